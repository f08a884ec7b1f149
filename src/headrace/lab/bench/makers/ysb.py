"""Events of the Yahoo! Streaming Benchmark: users see, click and buy from ads of campaigns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.lab.bench.makers.settings import setting

_AD_TYPES = pa.array(["banner", "modal", "sponsored-search", "mail", "mobile"])
_EVENT_TYPES = pa.array(["view", "click", "purchase"])


@dataclass(frozen=True)
class Ysb:
    """All values are equally likely, as in the original; an ad's campaign is `ad_id // ads`.

    The original looks the campaign up in a table beside the stream; here it is in the tuple.
    """

    users: int = setting(100, 1, 2**31 - 1)
    pages: int = setting(100, 1, 2**31 - 1)
    campaigns: int = setting(100, 1, 2**20)
    ads: int = setting(10, 1, 2**10)

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """`user_id`, `page_id`, `ad_id`, `campaign_id`, `ad_type`, `event_type`."""
        count = len(number)
        ad = rng.integers(0, self.campaigns * self.ads, count, dtype=np.int32)
        kind = rng.integers(0, len(_AD_TYPES) * len(_EVENT_TYPES), count, dtype=np.int8)
        return {
            "user_id": pa.array(rng.integers(0, self.users, count, dtype=np.int32)),
            "page_id": pa.array(rng.integers(0, self.pages, count, dtype=np.int32)),
            "ad_id": pa.array(ad),
            "campaign_id": pa.array(ad // np.int32(self.ads)),
            "ad_type": _AD_TYPES.take(pa.array(kind // np.int8(len(_EVENT_TYPES)))),
            "event_type": _EVENT_TYPES.take(pa.array(kind % np.int8(len(_EVENT_TYPES)))),
        }
