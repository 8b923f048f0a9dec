"""Why a query is executed as it is: values first, then one renderer for each format."""
