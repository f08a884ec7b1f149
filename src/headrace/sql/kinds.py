"""Which expressions and operators of Spark are run here, by the names of Spark's classes.

Everything that is not listed is refused: what a text may do is decided by what Spark says it is,
never by how it is spelled.
"""

from __future__ import annotations

STRUCTURE = frozenset(
    """Literal AttributeReference Window Alias Cast GetStructField GetArrayItem GetMapValue
    GetArrayStructFields CreateArray CreateMap CreateNamedStruct LambdaFunction
    NamedLambdaVariable SortOrder AggregateExpression Collate ResolvedCollation""".split()
)

LOGIC = frozenset(
    """And Or Not EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual In
    InSet IsNull IsNotNull IsNaN NaNvl AtLeastNNonNulls Coalesce If CaseWhen Greatest Least
    EqualNull NullIf TryEval RaiseError AssertTrue""".split()
)

NUMBERS = frozenset(
    """Add Subtract Multiply Divide IntegralDivide Remainder Pmod UnaryMinus UnaryPositive Abs Acos
    Acosh Asin Asinh Atan Atan2 Atanh BRound Bin Cbrt Ceil RoundCeil Conv Cos Cosh Cot Csc
    EulerNumber Exp Expm1 Factorial Floor RoundFloor Hypot Log Log10 Log1p Log2 Logarithm Pi Pow
    Rint Round Sec Signum Sin Sinh Sqrt Tan Tanh ToDegrees ToRadians WidthBucket BitwiseAnd
    BitwiseCount BitwiseGet BitwiseNot BitwiseOr BitwiseXor ShiftLeft ShiftRight
    ShiftRightUnsigned UnscaledValue MakeDecimal CheckOverflow FormatNumber ToNumber TryToNumber
    TryAdd TrySubtract TryMultiply TryDivide TryMod""".split()
)

TEXTS = frozenset(
    """Like ILike RLike StartsWith EndsWith Contains Upper Lower InitCap Length OctetLength
    BitLength Concat ConcatWs Elt Substring SubstringIndex Left Right StringTrim StringTrimLeft
    StringTrimRight StringTrimBoth StringLPad StringRPad BinaryPad StringReplace StringTranslate
    StringRepeat StringSpace StringInstr StringLocate StringSplit StringSplitSQL SplitPart
    Overlay Reverse Ascii Chr Base64 UnBase64 Base32 UnBase32 Hex Unhex Encode StringDecode
    Decode Levenshtein SoundEx JaroWinkler FindInSet FormatString Mask RegExpReplace
    RegExpExtract RegExpExtractAll RegExpInStr RegExpCount RegExpSubStr Sentences Luhncheck
    ToCharacter ToBinary TryToBinary IsValidUTF8 MakeValidUTF8 ValidateUTF8 TryValidateUTF8
    Collation CollationKey Quote ParseUrl TryParseUrl UrlEncode UrlDecode TryUrlDecode Crc32 Md5
    Sha1 Sha2 XxHash64 Murmur3Hash TypeOf""".split()
)

TIMES = frozenset(
    """AddMonths ConvertTimezone DateAdd DateSub DateDiff DateFormatClass DateFromUnixDate DayName
    DayOfMonth DayOfWeek DayOfYear FromUTCTimestamp ToUTCTimestamp FromUnixTime Hour HoursOfTime
    LastDay MakeDate MakeDTInterval MakeInterval TryMakeInterval MakeYMInterval MakeTimestamp
    MakeTimestampNTZ MicrosToTimestamp MillisToTimestamp Minute MinutesOfTime Month MonthName
    MonthsBetween NextDay Quarter Second SecondsOfTime SecondWithFraction SecondsToTimestamp
    NanosToTimestamp ToUnixTimestamp UnixTimestamp TruncDate TruncTimestamp UnixDate UnixMicros
    UnixMillis UnixNanos UnixSeconds WeekDay WeekOfYear Year YearOfWeek GetTimestamp ParseToDate
    ParseToTimestamp TimestampAdd TimestampDiff TimestampAddInterval TimestampAddYMInterval
    DateAddInterval DateAddYMInterval SubtractTimestamps SubtractDates TimeAdd DatetimeSub
    ExtractIntervalYears ExtractIntervalMonths ExtractIntervalDays ExtractIntervalHours
    ExtractIntervalMinutes ExtractIntervalSeconds ExtractANSIIntervalYears
    ExtractANSIIntervalMonths ExtractANSIIntervalDays ExtractANSIIntervalHours
    ExtractANSIIntervalMinutes ExtractANSIIntervalSeconds MultiplyYMInterval MultiplyDTInterval
    MultiplyInterval DivideYMInterval DivideDTInterval DivideInterval
    PreciseTimestampConversion""".split()
)

COLLECTIONS = frozenset(
    """ArrayAppend ArrayCompact ArrayContains ArrayDistinct ArrayExcept ArrayInsert ArrayIntersect
    ArrayJoin ArrayMax ArrayMin ArrayPosition ArrayPrepend ArrayRemove ArrayRepeat ArraySize
    ArrayUnion ArraysOverlap ArraysZip Flatten Get ElementAt TryElementAt Sequence Slice
    SortArray Size MapConcat MapContainsKey MapEntries MapFromArrays MapFromEntries MapKeys
    MapValues StringToMap ArrayAggregate ArrayExists ArrayFilter ArrayForAll ArraySort
    ArrayTransform MapFilter MapZipWith TransformKeys TransformValues ZipWith GetJsonObject
    JsonObjectKeys JsonToStructs LengthOfJsonArray SchemaOfJson StructsToJson CsvToStructs
    SchemaOfCsv StructsToCsv""".split()
)

AGGREGATES = frozenset(
    """Count CountIf Sum Average Min Max BoolAnd BoolOr StddevSamp StddevPop VarianceSamp
    VariancePop First Last HyperLogLogPlusPlus ApproximatePercentile PythonUDAF""".split()
)

ALLOWED = STRUCTURE | LOGIC | NUMBERS | TEXTS | TIMES | COLLECTIONS | AGGREGATES

NEVER_RAISE = frozenset(
    """Literal AttributeReference Window GetStructField GetArrayStructFields CreateArray
    CreateNamedStruct Collate ResolvedCollation And Or Not EqualTo EqualNullSafe LessThan
    LessThanOrEqual GreaterThan GreaterThanOrEqual In InSet IsNull IsNotNull IsNaN NaNvl
    Coalesce If CaseWhen Greatest Least Like ILike RLike StartsWith EndsWith Contains Upper
    Lower InitCap Length OctetLength BitLength Concat ConcatWs Substring SubstringIndex
    StringTrim StringTrimLeft StringTrimRight StringReplace StringTranslate StringInstr
    StringLocate Reverse Ascii Hex Crc32 Md5 Sha1 Sha2 XxHash64 Murmur3Hash DayOfMonth DayOfWeek
    DayOfYear Hour LastDay Minute Month Quarter Second SecondWithFraction TruncDate
    TruncTimestamp UnixDate UnixMicros UnixMillis UnixSeconds WeekDay WeekOfYear Year YearOfWeek
    BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Signum Sqrt Cbrt Exp Log Log10 Log2 Log1p Expm1
    Pow Sin Cos Tan Atan Atan2 Hypot ToDegrees ToRadians Rint""".split()
)
"""Whatever they are given: a cast that could fail is an expression of its own."""

OVERFLOW = frozenset("Add Subtract Multiply UnaryMinus Abs".split())
"""Raise in ANSI mode, of whole numbers and decimals; fractions do not overflow."""

RAISE_IN_ANSI_MODE = frozenset(
    "Divide IntegralDivide Remainder Pmod GetArrayItem ElementAt GetMapValue".split()
)
"""By zero, or outside of what is there; else they give NULL."""

REFUSED_OPERATORS = {
    "Join": "joins are not supported yet",
    "AsOfJoin": "ASOF joins are not supported",
    "LateralJoin": "LATERAL joins are not supported",
    "Union": "set operations are not supported",
    "Except": "set operations are not supported",
    "Intersect": "set operations are not supported",
    "UnresolvedWith": "common table expressions are not supported",
    "WithCTE": "common table expressions are not supported",
    "CTERelationDef": "common table expressions are not supported",
    "Distinct": "SELECT DISTINCT is not supported",
    "Deduplicate": "SELECT DISTINCT is not supported",
    "Generate": "LATERAL VIEW makes several rows of one",
    "UnresolvedInlineTable": "VALUES is not a stream",
    "LocalRelation": "VALUES is not a stream",
    "PipeOperator": "the operator |> is not supported",
    "UnresolvedTableValuedFunction": "a function is not a stream",
    "UnresolvedTVFAliases": "a function is not a stream",
    "Pivot": "PIVOT is not supported",
    "Unpivot": "UNPIVOT is not supported",
    "Sample": "TABLESAMPLE is not supported",
    "Offset": "OFFSET is not supported",
    "RepartitionByExpression": "DISTRIBUTE BY and CLUSTER BY are not supported",
    "RebalancePartitions": "DISTRIBUTE BY is not supported",
    "WithWindowDefinition": "OVER (…) is not supported",
    "UnresolvedQualify": "QUALIFY is not supported",
    "Qualify": "QUALIFY is not supported",
    "RelationTimeTravel": "a stream has no versions",
    "UnresolvedHint": "the only hint is APPROX",
    "ScriptTransformation": "TRANSFORM is not supported",
    "PlanWithUnresolvedIdentifier": "IDENTIFIER(…) is not supported",
    "UnresolvedExecuteImmediate": "EXECUTE is not a query",
}

REFUSED_EXPRESSIONS = {
    "ScalarSubquery": "subqueries are not supported",
    "LateralSubquery": "subqueries are not supported",
    "Exists": "subqueries are not supported",
    "ListQuery": "subqueries are not supported",
    "InSubquery": "subqueries are not supported",
    "UnresolvedScalarSubquery": "subqueries are not supported",
    "FunctionTableSubqueryArgumentExpression": "subqueries are not supported",
    "WindowExpression": "OVER (…) is not supported",
    "UnresolvedWindowExpression": "OVER (…) is not supported",
    "ExpressionWithUnresolvedIdentifier": "IDENTIFIER(…) is not supported",
    "NamedParameter": "parameters are not supported",
    "PosParameter": "parameters are not supported",
    "NamedParameterUnresolved": "parameters are not supported",
    "BaseGroupingSets": "GROUPING SETS is not supported",
    "GroupingSets": "GROUPING SETS is not supported",
    "Cube": "CUBE is not supported",
    "Rollup": "ROLLUP is not supported",
    "Grouping": "GROUPING SETS is not supported",
    "GroupingID": "GROUPING SETS is not supported",
}

SHAPE = "SELECT … FROM stream [WHERE …] [GROUP BY window(…), …] [HAVING …] [ORDER BY … LIMIT n]"

SUPPORTED_AGGREGATES = (
    "COUNT, COUNT(DISTINCT), SUM, AVG, MIN, MAX, STDDEV[_SAMP|_POP], VARIANCE, VAR_SAMP, VAR_POP, "
    "FIRST, LAST, APPROX_COUNT_DISTINCT, PERCENTILE_APPROX, COUNT_IF, BOOL_AND, BOOL_OR, KMEANS, "
    "KMEANS_COST"
)
