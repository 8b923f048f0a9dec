"""The parser made from Neel.g4 by grammar/regenerate.py."""

GRAMMAR_SHA256 = "4d83f5e1ac752f3c68e115a45779e9cdd66afc7b214f08b0dc54f93cffe68810"
