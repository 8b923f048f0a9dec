// The language of neelc: scripts, PATTERN queries (NEEL, NEEL+, SASE++, MQOS), JEPC-QL and SQL:2016 MATCH_RECOGNIZE.
// After a change run `python grammar/regenerate.py` and commit what it writes.
//
// Most decisions need one token of lookahead, which keeps the generated Python parser quick. Precedence of
// arithmetic, units of time, selection strategies, the words of temporal patterns and the names of relations
// (`h OVERLAPS p`, `h MET BY p`) are resolved in compiler/syntax, where the errors can be better.
grammar Neel;
options { caseInsensitive = true; }

// Statements -----------------------------------------------------------------------------------------------

singleStatement : statement EOF ;
singlePattern : patternItem EOF ;
singleExpression : expression EOF ;
singleWindow : window EOF ;

statement
    : CREATE createStream
    | CREATE createType
    | CREATE createHierarchy
    | CREATE createQuery
    | CREATE createFunction
    | query (AS name)?
    ;

// A relation is read like a stream, but has no time; compiler/syntax checks that.
createStream
    : (STREAM | RELATION) name (LPAREN columnDefinition (COMMA columnDefinition)* RPAREN)?
      (timeClause | streamClause)*
    ;
columnDefinition : name dataType ;
timeClause
    : TIMESTAMP BY name (FORMAT STRING)? (THEN BY name (COMMA name)*)?   # timestampBy
    | TIMESTAMP BETWEEN name AND name (WEIGHT name | DISTRIBUTION name)?   # timestampBetween
    | UNIT name                                      # unitOf
    | END BY name                                    # endBy
    | TYPE BY name                                   # typeBy
    ;
streamClause
    : FROM STRING                                    # fromPath
    | FORMAT name                                    # formatName
    | OPTIONS LPAREN property (COMMA property)* RPAREN   # optionList
    | WITH STATS LPAREN statistic (COMMA statistic)* RPAREN   # withStatistics
    | WATERMARK window                               # watermarkDelay
    ;
property : name STRING ;
statistic : (TYPE name)? measure ;
measure
    : (EVENTS | SHARE) signedNumber                  # plainMeasure
    | RATE signedNumber PER name                     # rateMeasure
    | SPAN signedNumber name                         # spanMeasure
    | (DISTINCT | NULLS | MOST FREQUENT) name signedNumber   # columnMeasure
    | RANGE name signedNumber TO signedNumber        # rangeMeasure
    | SELECTIVITY LPAREN expression RPAREN signedNumber   # conditionMeasure
    ;
signedNumber : MINUS? NUMBER ;

createType : TYPE name AS LPAREN name (COMMA name)* RPAREN ;
// The levels, from the finest to the coarsest, are columns of the relation.
createHierarchy : HIERARCHY name LPAREN name (COMMA name)* RPAREN FROM name ;
// The times are for a query around MATCH_RECOGNIZE, whose rows say by themselves when they are.
createQuery : QUERY name timeClause* AS query ;
createFunction : FUNCTION name LPAREN (dataType (COMMA dataType)*)? RPAREN RETURNS dataType ;

// From left to right; what is combined are SELECTs, which compiler/syntax checks.
query : queryTerm (setOperator queryTerm)* ;
queryTerm : patternQuery | rolledQuery | temporalQuery | select | LPAREN query RPAREN ;
setOperator : (UNION | EXCEPT) (ALL | DISTINCT)? ;

// A query with other types and attributes. compiler/syntax reads the direction: UP and DOWN are common names.
rolledQuery : (ROLL | DRILL) name name LPAREN rollStep (COMMA rollStep)* RPAREN ;
rollStep : name TO name (DOT name)? ;

// Pattern queries ------------------------------------------------------------------------------------------

patternQuery : PATTERN patternExpression patternClause* ;
patternClause
    : FROM name (COMMA name)*                        # fromStreams
    | WHERE expression                               # whereClause
    | PARTITION BY sharedAttribute (COMMA sharedAttribute)*   # partitionNames
    | WITHIN window                                  # withinClause
    | USING PARTITION? name+ (AMONG typeList)?       # usingStrategy
    | AFTER MATCH SKIPPING skipEvent                 # keptAfterMatch
    | ONE MATCH PER name (COMMA name)*               # keptOnePer
    | SUPPRESS window                                # keptApart
    | WHEN COMPLETE (UNTIL expression)?              # whenComplete
    | WITH CONFIDENCE (GE | GT) expression           # withConfidence
    | WITH PARTIAL MATCHES                           # withPartialMatches
    | RETURN (DISTINCT | COLLAPSED)? (returnItem (COMMA returnItem)*)?   # returnClause
    | ORDER BY sortItem (COMMA sortItem)*            # orderClause
    | LIMIT NUMBER                                   # limitClause
    ;
typeList : LPAREN name (COMMA name)* RPAREN ;
// compiler/syntax checks the word EVENT.
skipEvent : PAST LAST name | TO NEXT name | TO (FIRST | LAST)? name ;
returnItem : STAR | expression (AS name)? ;
// `id`, or `level(street, Place.city)`; compiler/syntax checks the name of the function.
sharedAttribute : name (LPAREN name (COMMA levelName)+ RPAREN)? ;
levelName : name DOT name ;

patternExpression : patternPart (OR patternPart)* ;
patternPart
    : (BANG | NOT) patternPart                       # negatedPart
    | EXISTS name (COMMA name)* COLON patternPart    # existsPart
    | follow patternPart                             # followingPart
    | patternAtom quantifier? variable? closureClause*   # plainPart
    ;
// `NEXT B` is the next B; a type of such a name stands between backticks.
follow : ANY | NEXT | STRICT (AMONG typeList)? ;
closureClause
    : EACH follow                                    # eachFollows
    | EACH WITHIN window                             # eachWithin
    | (UNTIL | WITHOUT) LPAREN patternItem (COLON conditionList)? RPAREN   # absentPart
    ;
patternAtom
    : (SEQ | AND | OR | AND_NEG | SEQ_NEG) LPAREN patternListItem (COMMA patternListItem)* COMMA? qualification? RPAREN   # operatorAtom
    | LPAREN patternItem (COLON conditionList)? RPAREN   # groupAtom
    | name                                           # eventAtom
    ;
// NEEL writes conditions as the last elements of the list.
patternListItem : patternItem | expression ;
patternItem : patternExpression (WITHIN window)? ;
qualification : (WHERE | SEMI) conditionList ;
conditionList : expression (COMMA expression)* COMMA? ;
variable : name (LBRACKET RBRACKET)? ;
quantifier
    : PLUS
    | STAR
    | QUESTION
    | LBRACE NUMBER? (COMMA NUMBER?)? RBRACE
    ;

window : (NUMBER | COLON name) name? | interval ;

// JEPC-QL --------------------------------------------------------------------------------------------------

select
    : SELECT (DISTINCT | ALL)? selectItem (COMMA selectItem)*
      FROM fromItem (COMMA fromItem)*
      (WHERE expression)?
      (GROUP BY expressionList)?
      (HAVING expression)?
      (ORDER BY sortItem (COMMA sortItem)*)?
      (LIMIT NUMBER)?
    ;
selectItem : STAR | expression (AS? name)? ;
expressionList : expression (COMMA expression)* ;
sortItem : expression (ASC | DESC)? (NULLS (FIRST | LAST))? ;

fromItem : fromSource alias? streamWindow? alias? (matcher alias?)? ;
alias : AS? name ;
fromSource
    : MATCH LPAREN wanted (COMMA wanted)* RPAREN     # matchmaker
    | name LPAREN fromItem (COMMA fromItem)* RPAREN  # agentCall
    | name                                           # streamName
    | LPAREN query RPAREN                            # subquery
    ;
wanted : name COLON dataType (LBRACE wantedProperty (COMMA wantedProperty)* RBRACE)? ;
wantedProperty : LPAREN name COMMA (name | NUMBER | STRING) RPAREN ;
streamWindow
    : WINDOW LPAREN (TIME | COUNT) window (JUMP window)? (PARTITION BY name (COMMA name)*)? RPAREN
    ;

matcher
    : MATCH_RECOGNIZE LPAREN rowClause* RPAREN
    | MATCH_RECOGNIZE_SEQUENTIAL LPAREN sequentialClause* RPAREN
    | MATCH_RECOGNIZE_TEMPORAL LPAREN temporalClause* RPAREN
    ;
sharedClause
    : PARTITION BY expressionList                    # matchPartition
    | MEASURES selectItem (COMMA selectItem)*        # matchMeasures
    | WITHIN window                                  # matchWithin
    | DEFINE definition (COMMA? definition)*         # matchDefine
    ;
// A length and a DO belong to temporal patterns; compiler/syntax checks that, and the commas.
definition : name AS expression symbolDuration? (DO assignment (COMMA assignment)*)? ;
// `DURATION BETWEEN 5 AND 30 SECONDS`, `DURATION AT LEAST 5 SECONDS`, `DURATION AT MOST 1 MINUTE`.
symbolDuration : DURATION (BETWEEN window AND window | name (name | MOST) window) ;
assignment : name EQ expression ;
rowClause
    : sharedClause                                   # rowShared
    | ORDER BY sortItem (COMMA sortItem)*            # rowOrder
    | (ONE ROW | ALL ROWS) PER MATCH emptyMatches?   # rowsPerMatch
    | AFTER MATCH SKIPPING skipTo                    # afterMatch
    | PATTERN LPAREN rowPattern? RPAREN              # rowPatternClause
    | SUBSET subset (COMMA subset)*                  # rowSubset
    ;
emptyMatches : (SHOW | OMIT) EMPTY MATCHES | WITH UNMATCHED ROWS ;
skipTo : PAST LAST ROW | TO NEXT ROW | TO (FIRST | LAST)? name ;
subset : name EQ LPAREN name (COMMA name)* RPAREN ;
sequentialClause
    : sharedClause
    | PATTERN rowPattern
    | USING following
    | AFTER MATCH SKIPPING skipEvent
    | FROM furtherStream (COMMA furtherStream)*
    ;
furtherStream : name alias? ;
// `DIRECTLY FOLLOWED BY`, `EVENTUALLY FOLLOWED BY`, `FOLLOWED BY WITHIN 5 SECONDS`; compiler/syntax checks the names.
following : name name BY | name BY WITHIN window ;
temporalClause
    : sharedClause
    | PATTERN temporalPatterns
    | FROM furtherStream (COMMA furtherStream)*
    ;
// TPStream's own queries: what DO and RETURN name is MEASURES in JEPC-QL.
temporalQuery : FROM furtherStream (COMMA furtherStream)* temporalQueryClause* ;
temporalQueryClause
    : sharedClause
    | PATTERN temporalPatterns
    | RETURN selectItem (COMMA selectItem)*
    ;

// A SEMI separates alternatives in JEPC's patterns only; compiler/syntax checks that.
rowPattern : rowSequence ((PIPE | SEMI) rowSequence)* ;
rowSequence : rowTerm+ ;
// JEPC's patterns have `?` also before what it makes optional; compiler/syntax decides which one it is.
rowTerm : QUESTION? rowPrimary (quantifier QUESTION?)? ;
rowPrimary
    : PERMUTE LPAREN rowPattern (COMMA rowPattern)* RPAREN   # rowPermute
    | LPAREN (rowPattern (COMMA rowPattern)*)? RPAREN   # rowGroup
    | BANG name                                      # rowNegated
    | EXCLUDE_OPEN rowPattern EXCLUDE_CLOSE          # rowExclusion
    | (CARET | DOLLAR)                               # rowAnchor
    | name                                           # rowVariable
    ;

temporalPatterns : temporalPattern (SEMI temporalPattern)* ;
temporalPattern : temporalItem (COMMA temporalItem)* ;
temporalItem
    : BANG name                                      # temporalAbsent
    | LPAREN temporalPatterns RPAREN                 # temporalGroup
    | temporalWord name BY? temporalWord             # temporalNamed
    | temporalWord (DOT temporalWord)*               # temporalRelation
    ;
// `A.AS.S` is a word over the symbols A and S.
temporalWord : name | ALL | AS | BY | IN | IS | OR ;

// Expressions ----------------------------------------------------------------------------------------------

expression : conjunction (OR conjunction)* ;
conjunction : negation (AND negation)* ;
negation : NOT negation | predicate ;
predicate
    : arithmetic predicateTail?
    | LPAREN expression (COMMA expression)+ RPAREN NOT? IN nestedQuery
    ;
predicateTail
    : (EQ | NE | LT | LE | GT | GE | NULL_SAFE) arithmetic   # comparison
    | IS NOT? (NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM arithmetic)   # isTest
    | NOT? rangeTest                                 # rangePredicate
    | (BEFORE | AFTER) BY? arithmetic                # eventRelation
    ;
rangeTest
    : BETWEEN arithmetic AND arithmetic              # between
    | IN LPAREN expressionList RPAREN                # inList
    | IN nestedQuery                                 # inQuery
    | (LIKE | ILIKE | RLIKE) arithmetic (ESCAPE STRING)?   # like
    ;
arithmetic : unary (operator unary)* ;
operator : PLUS | MINUS | STAR | SLASH | PERCENT | DIV | CONCAT | AMPERSAND | PIPE | CARET ;
unary : (MINUS | PLUS | TILDE) unary | postfix ;
postfix : primary step* ;
step : DOT name | DOT STAR | LBRACKET subscript? RBRACKET ;
subscript : DOTDOT expression | expression (DOTDOT expression)? ;
primary
    : NUMBER                                         # number
    | STRING                                         # string
    | BINARY                                         # binary
    | (TRUE | FALSE | NULL)                          # constant
    | COLON name                                     # parameter
    | interval                                       # intervalLiteral
    | (name | LPAREN name (COMMA name)* RPAREN) ARROW expression   # lambdaFunction
    | LPAREN expression RPAREN                       # group
    | EXISTS? nestedQuery                            # queryValue
    | EXISTS arguments                               # existsFunction
    | LBRACKET sharedAttribute (COMMA sharedAttribute)* RBRACKET   # sameAttributes
    | CASE expression? whenThen+ (ELSE expression)? END   # caseWhen
    | (CAST | TRY_CAST) LPAREN expression AS dataType RPAREN   # cast
    | (RUNNING | FINAL) name arguments callTail      # runningFinal
    | name (arguments callTail | STRING)?            # named
    ;
whenThen : WHEN expression THEN expression ;
arguments
    : LPAREN (STAR | (DISTINCT | ALL)? expression (FROM expression)? (COMMA expression)* inOrder?)? RPAREN
    ;
// compiler/syntax refuses ORDER BY and OVER with a hint.
inOrder : ORDER BY sortItem (COMMA sortItem)* ;
callTail : (FILTER LPAREN WHERE expression RPAREN)? (OVER (name | LPAREN enclosed* RPAREN))? ;
// A query inside an expression is Spark's own SQL: what stands between its parentheses is not read here.
nestedQuery : LPAREN (SELECT | WITH) enclosed* RPAREN ;
enclosed : LPAREN enclosed* RPAREN | ~(LPAREN | RPAREN) ;
interval : INTERVAL (MINUS | PLUS)? intervalPart+ ;
intervalPart : STRING (name (TO name)?)? | NUMBER name (TO name)? ;

dataType
    : INTERVAL name (TO name)?                       # intervalType
    | name (LPAREN NUMBER (COMMA NUMBER)* RPAREN | LT typeArgument (COMMA typeArgument)* GT)?   # namedType
    ;
typeArgument : (name COLON)? dataType ;

name : IDENTIFIER | QUOTED | softWord ;
// Words with a meaning in some places that stay free as names.
softWord
    : AFTER | AMONG | ANY | ASC | BEFORE | COLLAPSED | COMPLETE | CONFIDENCE | COUNT | DESC | DISTRIBUTION | DIV | DO | DRILL | DURATION | EACH | EMPTY | END
    | ESCAPE | EVENTS | EXCEPT | FILTER | FINAL | FIRST | FORMAT | FREQUENT | FUNCTION | HIERARCHY | ILIKE | JUMP | LAST | MATCH | MATCHES | MOST
    | NEXT | NULLS | OMIT | ONE | OPTIONS | OVER | PARTIAL | PAST | PER | PERMUTE | QUERY | RANGE | RATE | RELATION | RETURNS | RLIKE
    | ROLL | ROW | ROWS | RUNNING | SELECTIVITY | SHARE | SHOW | SKIPPING | SPAN | STATS | STREAM | STRICT | SUBSET | SUPPRESS | TIME
    | TIMESTAMP | TO | TYPE | UNION | UNIT | UNKNOWN | UNMATCHED | UNTIL | WATERMARK | WEIGHT | WITHOUT
    ;

// Words ----------------------------------------------------------------------------------------------------

AFTER : 'AFTER' ;
ALL : 'ALL' ;
AMONG : 'AMONG' ;
AND : 'AND' ;
AND_NEG : 'AND_NEG' ;
ANY : 'ANY' ;
AS : 'AS' ;
ASC : 'ASC' ;
// Relations of two events; some take BY.
BEFORE : 'BEFORE' | 'MEETS' | 'MET' | 'OVERLAPS' | 'OVERLAPPED' | 'STARTS' | 'STARTED' | 'DURING' | 'CONTAINS' | 'FINISHES' | 'FINISHED' | 'EQUALS' ;
BETWEEN : 'BETWEEN' ;
BY : 'BY' ;
CASE : 'CASE' ;
CAST : 'CAST' ;
COLLAPSED : 'COLLAPSED' ;
COMPLETE : 'COMPLETE' ;
CONFIDENCE : 'CONFIDENCE' ;
COUNT : 'COUNT' ;
CREATE : 'CREATE' ;
DEFINE : 'DEFINE' ;
DESC : 'DESC' ;
DISTINCT : 'DISTINCT' ;
DISTRIBUTION : 'DISTRIBUTION' ;
DIV : 'DIV' ;
DO : 'DO' ;
DRILL : 'DRILL' ;
DURATION : 'DURATION' ;
EACH : 'EACH' ;
ELSE : 'ELSE' ;
EMPTY : 'EMPTY' ;
END : 'END' ;
ESCAPE : 'ESCAPE' ;
EVENTS : 'EVENTS' ;
EXCEPT : 'EXCEPT' ;
EXISTS : 'EXISTS' | '\u2203' ;
FALSE : 'FALSE' ;
FILTER : 'FILTER' ;
FINAL : 'FINAL' ;
FIRST : 'FIRST' ;
FORMAT : 'FORMAT' ;
FREQUENT : 'FREQUENT' ;
FROM : 'FROM' ;
FUNCTION : 'FUNCTION' ;
GROUP : 'GROUP' ;
HAVING : 'HAVING' ;
HIERARCHY : 'HIERARCHY' ;
ILIKE : 'ILIKE' ;
IN : 'IN' ;
INTERVAL : 'INTERVAL' ;
IS : 'IS' ;
JUMP : 'JUMP' ;
LAST : 'LAST' ;
LIKE : 'LIKE' ;
LIMIT : 'LIMIT' ;
MATCH : 'MATCH' ;
MATCHES : 'MATCHES' ;
MATCH_RECOGNIZE : 'MATCH_RECOGNIZE' ;
MATCH_RECOGNIZE_SEQUENTIAL : 'MATCH_RECOGNIZE_SEQUENTIAL' ;
MATCH_RECOGNIZE_TEMPORAL : 'MATCH_RECOGNIZE_TEMPORAL' ;
MEASURES : 'MEASURES' ;
MOST : 'MOST' ;
NEXT : 'NEXT' ;
NOT : 'NOT' ;
NULL : 'NULL' ;
NULLS : 'NULLS' ;
OMIT : 'OMIT' ;
ONE : 'ONE' ;
OPTIONS : 'OPTIONS' ;
OR : 'OR' ;
ORDER : 'ORDER' ;
OVER : 'OVER' ;
PARTIAL : 'PARTIAL' ;
PARTITION : 'PARTITION' ;
PAST : 'PAST' ;
PATTERN : 'PATTERN' ;
PER : 'PER' ;
PERMUTE : 'PERMUTE' ;
QUERY : 'QUERY' ;
RANGE : 'RANGE' ;
RATE : 'RATE' ;
RELATION : 'RELATION' ;
RETURN : 'RETURN' ;
RETURNS : 'RETURNS' ;
RLIKE : 'RLIKE' | 'REGEXP' ;
ROLL : 'ROLL' ;
ROW : 'ROW' ;
ROWS : 'ROWS' ;
RUNNING : 'RUNNING' ;
SELECT : 'SELECT' ;
SELECTIVITY : 'SELECTIVITY' ;
SEQ : 'SEQ' ;
SEQ_NEG : 'SEQ_NEG' ;
SHARE : 'SHARE' ;
SHOW : 'SHOW' ;
SKIPPING : 'SKIP' ;
SPAN : 'SPAN' ;
STATS : 'STATS' ;
STREAM : 'STREAM' ;
STRICT : 'STRICT' ;
SUBSET : 'SUBSET' ;
SUPPRESS : 'SUPPRESS' ;
THEN : 'THEN' ;
TIME : 'TIME' ;
TIMESTAMP : 'TIMESTAMP' ;
TO : 'TO' ;
TRUE : 'TRUE' ;
TRY_CAST : 'TRY_CAST' ;
TYPE : 'TYPE' ;
UNION : 'UNION' ;
UNIT : 'UNIT' ;
UNKNOWN : 'UNKNOWN' ;
UNMATCHED : 'UNMATCHED' ;
UNTIL : 'UNTIL' ;
USING : 'USING' ;
WATERMARK : 'WATERMARK' ;
WEIGHT : 'WEIGHT' ;
WHEN : 'WHEN' ;
WHERE : 'WHERE' ;
WINDOW : 'WINDOW' ;
WITH : 'WITH' ;
WITHIN : 'WITHIN' ;
WITHOUT : 'WITHOUT' ;

// Marks ----------------------------------------------------------------------------------------------------

LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
EXCLUDE_OPEN : '{-' ;
EXCLUDE_CLOSE : '-}' ;
LBRACE : '{' ;
RBRACE : '}' ;
COMMA : ',' ;
SEMI : ';' ;
COLON : ':' ;
DOTDOT : '..' ;
DOT : '.' ;
EQ : '=' | '==' ;
NULL_SAFE : '<=>' ;
NE : '<>' | '!=' ;
LE : '<=' ;
LT : '<' ;
GE : '>=' ;
GT : '>' ;
BANG : '!' ;
PLUS : '+' ;
ARROW : '->' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
CONCAT : '||' ;
PIPE : '|' ;
AMPERSAND : '&' ;
CARET : '^' ;
TILDE : '~' ;
QUESTION : '?' ;
DOLLAR : '$' ;

NUMBER : ([0-9]+ ('.' [0-9]+)? | '.' [0-9]+) ('E' [+-]? [0-9]+)? ('L' | 'S' | 'Y' | 'D' | 'F' | 'BD')? ;
BINARY : 'X' '\'' [0-9A-F]* '\'' ;
STRING : '\'' (~'\'' | '\'\'')* '\'' | '"' (~'"' | '""')* '"' ;
IDENTIFIER : [A-Z_] [A-Z0-9_]* ;
QUOTED : '`' (~'`' | '``')+ '`' ;

COMMENT : ('--' ~[\r\n]* | '/*' .*? '*/') -> channel(HIDDEN) ;
SPACE : [ \t\r\n\f\u00A0]+ -> skip ;
UNFINISHED : ('\'' (~'\'' | '\'\'')* | '"' (~'"' | '""')* | '`' ~'`'* | '/*' (~'*' | '*'+ ~[*/])* '*'*) EOF ;
STRAY : . ;
