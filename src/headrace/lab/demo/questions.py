"""What people ask in the demo: query templates over the gaming streams, with random constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

PACKS = ("pouch", "bag", "chest", "crate", "vault", "wagon", "ship", "mountain")
WINDOWS = (
    "window(time, '4 seconds')",
    "window(time, '4 seconds', '2 seconds')",
    "window(time, '8 seconds', '4 seconds')",
)


@dataclass(frozen=True, slots=True)
class Question:
    """One query: a name that is not used twice, and its SQL."""

    name: str
    sql: str


def questions(seed: int) -> Iterator[Question]:
    """Question after question without end; the first of each kind come first."""
    random = Random(seed)
    number = 0
    while True:
        kinds = list(KINDS)
        if number:
            random.shuffle(kinds)
        for topic, make in kinds:
            number += 1
            yield Question(f"{topic}-{number}", " ".join(make(random).split()))


def _revenue(random: Random) -> str:
    return f"""
        SELECT window.start, gem_pack, SUM(price) AS revenue
        FROM purchases WHERE price > {_price(random)}
        GROUP BY window(time, '8 seconds', '4 seconds'), gem_pack"""


def _top_packs(random: Random) -> str:
    return f"""
        SELECT window.start, gem_pack, SUM(price) AS revenue, COUNT(*) AS sold
        FROM purchases WHERE price > {_price(random)}
        GROUP BY window(time, '4 seconds'), gem_pack
        ORDER BY revenue DESC LIMIT 3"""


def _buyers(random: Random) -> str:
    low = _price(random)
    return f"""
        SELECT window.start, COUNT(DISTINCT user_id) AS buyers
        FROM purchases WHERE price BETWEEN {low} AND {low + random.randint(2, 8)}
        GROUP BY {random.choice(WINDOWS)}"""


def _median_price(random: Random) -> str:
    return f"""
        SELECT window.start, gem_pack, PERCENTILE_APPROX(price, 0.5) AS median,
               PERCENTILE_APPROX(price, {random.choice((0.9, 0.95, 0.99))}) AS high
        FROM purchases GROUP BY window(time, '4 seconds'), gem_pack"""


def _shopping_sprees(random: Random) -> str:
    first = random.randrange(0, 9_900, 100)
    return f"""
        SELECT user_id, session_window.start, COUNT(*) AS bought, SUM(price) AS spent
        FROM purchases WHERE user_id BETWEEN {first} AND {first + 99}
        GROUP BY session_window(time, '1 second'), user_id
        HAVING COUNT(*) >= 3"""


def _big_spenders(random: Random) -> str:
    return f"""
        SELECT window.start, user_id, SUM(price) AS spent
        FROM purchases GROUP BY window(time, '4 seconds'), user_id
        HAVING SUM(price) > {random.choice((15, 25))} ORDER BY spent DESC LIMIT 3"""


def _candles(random: Random) -> str:
    return f"""
        SELECT window.start, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low,
               LAST(price) AS close
        FROM purchases WHERE gem_pack = '{random.choice(PACKS)}'
        GROUP BY {random.choice(WINDOWS)}"""


def _spread(random: Random) -> str:
    some = "', '".join(random.sample(PACKS, 3))
    return f"""
        SELECT window.start, gem_pack, AVG(price) AS mean, STDDEV(price) AS spread
        FROM purchases WHERE gem_pack IN ('{some}')
        GROUP BY {random.choice(WINDOWS)}, gem_pack"""


def _mean_basket(random: Random) -> str:
    first = random.randrange(0, 5_000, 500)
    return f"""
        SELECT window.start, ROUND(SUM(price) / COUNT(*), 2) AS mean, COUNT(*) AS sold
        FROM purchases WHERE user_id BETWEEN {first} AND {first + 4_999}
        GROUP BY {random.choice(WINDOWS)}"""


def _premium(random: Random) -> str:
    return f"""
        SELECT window.start, COUNT(*) AS sold, SUM(price) AS revenue
        FROM purchases WHERE price > {_price(random)} OR gem_pack = '{random.choice(PACKS)}'
        GROUP BY {random.choice(WINDOWS)}"""


def _sold_at_once(random: Random) -> str:
    return f"""
        SELECT /*+ APPROX(error => 0.05, fallback => 'best_effort') */
               window.start, COUNT(*) AS sold, AVG(price) AS mean
        FROM purchases WHERE price > {_price(random)}
        GROUP BY {random.choice(WINDOWS)}"""


def _large_sales(random: Random) -> str:
    return f"""
        SELECT time, user_id, gem_pack, price
        FROM purchases WHERE price > {18 + random.randint(0, 20) / 10}"""


def _ads_shown(random: Random) -> str:
    first = random.randrange(0, 8_000, 1_000)
    return f"""
        SELECT window.start, gem_pack, COUNT(*) AS shown
        FROM ads WHERE user_id BETWEEN {first} AND {first + 1_999}
        GROUP BY {random.choice(WINDOWS)}, gem_pack"""


def _reach(random: Random) -> str:
    some = "', '".join(random.sample(PACKS, 2))
    return f"""
        SELECT window.start, gem_pack, COUNT(DISTINCT user_id) AS reached
        FROM ads WHERE gem_pack IN ('{some}')
        GROUP BY window(time, '8 seconds', '4 seconds'), gem_pack"""


def _nagged_users(random: Random) -> str:
    return f"""
        SELECT window.start, user_id, COUNT(*) AS ads
        FROM ads WHERE gem_pack <> '{random.choice(PACKS)}'
        GROUP BY window(time, '4 seconds'), user_id
        HAVING COUNT(*) > 2 ORDER BY ads DESC, user_id LIMIT 3"""


def _price(random: Random) -> int:
    return random.randint(2, 9)


KINDS: tuple[tuple[str, Callable[[Random], str]], ...] = (
    ("revenue", _revenue),
    ("top-packs", _top_packs),
    ("ads-shown", _ads_shown),
    ("buyers", _buyers),
    ("median-price", _median_price),
    ("candles", _candles),
    ("reach", _reach),
    ("big-spenders", _big_spenders),
    ("large-sales", _large_sales),
    ("sold-at-once", _sold_at_once),
    ("mean-basket", _mean_basket),
    ("nagged-users", _nagged_users),
    ("spread", _spread),
    ("shopping-sprees", _shopping_sprees),
    ("premium", _premium),
)
