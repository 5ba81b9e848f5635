// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"math"
	"time"

	"github.com/seed-59268b81/talos/controllers/etcd/quorum"
)

// catchupPatience is how long a learner may come no closer to the rest of the cluster. While it has no vote no other machine joins, so it is
// removed then, and joins again with empty data. A snapshot of 8 GiB, the largest that etcd is made for, takes less over a link with
// 100 Mbit/s: meanwhile the learner has nothing of it.
const catchupPatience = 15 * time.Minute

// unknown is how far behind a learner is that does not answer.
const unknown = math.MaxUint64

// catchup is how far behind a learner was at best, in entries of the log, and since when it has not been closer.
type catchup struct {
	member uint64
	behind uint64
	since  time.Time
}

// next returns the state after a look at a learner.
func (c catchup) next(cluster quorum.Cluster, learner quorum.Member, now time.Time) catchup {
	behind := uint64(unknown)

	for _, m := range cluster.Voters() {
		if m.Leader && m.Healthy && m.Applied > 0 && learner.Healthy {
			behind = m.Applied - min(m.Applied, learner.Applied)
		}
	}

	if c.member != learner.ID {
		return catchup{learner.ID, behind, now}
	}

	if behind < c.behind {
		c.behind, c.since = behind, now
	}

	return c
}

// stuck returns why the learner is given up, or nil.
func (c catchup) stuck(now time.Time) error {
	if c.member == 0 || now.Sub(c.since) < catchupPatience {
		return nil
	}

	how := "it does not answer"
	if c.behind != unknown {
		how = fmt.Sprintf("it is %d entries behind", c.behind)
	}

	return fmt.Errorf("the learner %016x has come no closer to the rest of the cluster for %s (%s)", c.member, catchupPatience, how)
}
