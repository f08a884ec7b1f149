"""What is known about functions: which aggregate, which are refused, which cannot raise."""

from __future__ import annotations

from headrace.query.logical import Function

AGGREGATES: dict[str, Function] = {
    "count": Function.COUNT,
    "count_if": Function.COUNT,
    "sum": Function.SUM,
    "avg": Function.AVG,
    "mean": Function.AVG,
    "min": Function.MIN,
    "max": Function.MAX,
    "bool_and": Function.MIN,
    "every": Function.MIN,
    "bool_or": Function.MAX,
    "stddev": Function.STDDEV_SAMP,
    "std": Function.STDDEV_SAMP,
    "stddev_samp": Function.STDDEV_SAMP,
    "stddev_pop": Function.STDDEV_POP,
    "variance": Function.VAR_SAMP,
    "var_samp": Function.VAR_SAMP,
    "var_pop": Function.VAR_POP,
    "first": Function.FIRST,
    "first_value": Function.FIRST,
    "last": Function.LAST,
    "last_value": Function.LAST,
    "approx_count_distinct": Function.APPROX_COUNT_DISTINCT,
    "percentile_approx": Function.PERCENTILE_APPROX,
    "approx_percentile": Function.PERCENTILE_APPROX,
    "kmeans": Function.KMEANS,
    "kmeans_cost": Function.KMEANS_COST,
}

SUPPORTED_AGGREGATES = (
    "COUNT, COUNT(DISTINCT), SUM, AVG, MIN, MAX, STDDEV[_SAMP|_POP], VARIANCE, VAR_SAMP, VAR_POP, "
    "FIRST, LAST, APPROX_COUNT_DISTINCT, PERCENTILE_APPROX, COUNT_IF, BOOL_AND, BOOL_OR, KMEANS, "
    "KMEANS_COST"
)

OTHER_AGGREGATES = frozenset(
    """any any_value approx_top_k array_agg avg_distinct bit_and bit_or bit_xor bitmap_construct_agg
    bitmap_or_agg collect_list collect_set corr count_min_sketch covar_pop covar_samp grouping
    grouping_id histogram_numeric hll_sketch_agg hll_union_agg kurtosis listagg max_by measure
    median min_by mode percentile percentile_cont percentile_disc product regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_json_agg
    skewness some string_agg sum_distinct try_avg try_sum""".split()
)

NON_DETERMINISTIC = frozenset(
    """rand randn random randstr uniform uuid shuffle now current_timestamp current_date
    current_time curdate localtimestamp monotonically_increasing_id spark_partition_id
    input_file_name input_file_block_start input_file_block_length""".split()
)

ALWAYS_RAISERS = frozenset({"raise_error", "assert_true"})

NEVER_RAISE = frozenset(
    """upper ucase lower lcase trim ltrim rtrim length char_length character_length concat concat_ws
    isnull isnotnull startswith endswith contains initcap reverse replace translate ascii
    like ilike rlike regexp_like""".split()
)
"""Functions of strings: whatever they are given is cast to a string, which never fails."""

NEVER_RAISE_ON_TIMES = frozenset(
    """year month day dayofmonth day_of_month dayofweek day_of_week dayofyear day_of_year weekofyear
    week_of_year quarter hour minute second date_trunc timestamp_trunc trunc""".split()
)
"""Parts of dates and times: they cannot fail while all columns inside are dates or times."""
