// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// crowdSize is how many sessions TestCrowd runs.
func crowdSize(t testing.TB) int {
	t.Helper()

	text := os.Getenv("DISCOVERY_CROWD")
	if text == "" {
		return 300
	}

	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// TestCrowd runs many sessions, kills the service and starts it again, with its snapshot and without. Meanwhile members join, change,
// leave and die. No session ever drops a member that lives, and none shows one that has expired.
func TestCrowd(t *testing.T) {
	n := crowdSize(t)
	c := newCrowd(t, n)
	budget := 2*time.Minute + time.Duration(n)*50*time.Millisecond
	path := filepath.Join(t.TempDir(), "state")

	begin := now()
	c.start("")

	// Two join later: then there are as many as a cluster may have.
	all := make([]*crowdMember, n-2)
	for i := range all {
		all[i] = c.join(fmt.Sprintf("%s-%04d", "sou7yy34ykX3n373Zw1DXKb8zD7UnyKT6HT3", i))

		// Machines are not made all at once. Each must be told all others, by whatever service.
		if i%250 == 249 {
			c.right(fmt.Sprint("cold start of ", i+1), begin, budget)
		}
	}

	c.right("cold start", begin, budget)

	// Killed: the snapshot lacks what has happened since.
	c.save(path)

	c.join("joined after the snapshot")
	c.publish(all[0], "changed after the snapshot")
	c.right("a join and a change", now(), budget)
	c.stop()

	c.join("joined while the service was away")
	c.publish(all[1], "changed while the service was away")
	c.kill(all[2])
	time.Sleep(time.Second)
	c.start(path)
	c.right("restart with a snapshot", c.back, budget)

	c.publish(all[3], "changed")
	c.delete(all[4])
	c.right("a change and a leave", now(), budget)

	// Killed again, and everything is forgotten.
	c.stop()
	c.join("joined while the service was away again")
	c.publish(all[5], "changed while the service was away again")
	c.kill(all[6])
	time.Sleep(time.Second)
	c.start("")
	c.right("restart without a snapshot", c.back, budget)

	// The dead ones go when their time is over.
	for !c.withoutDead() {
		if time.Since(c.back.at) > c.ttl+30*time.Second {
			wrong, why := c.wrongSessions()
			t.Fatalf("the dead members stay: %d sessions are wrong, %s", wrong, why)
		}

		time.Sleep(100 * time.Millisecond)
	}

	c.right("the end", now(), budget)

	c.mu.Lock()
	defer c.mu.Unlock()

	if len(c.wrong) > 0 {
		t.Errorf("%d living members were lost, first: %s", len(c.wrong), c.wrong[0])
	}
}

// BenchmarkRestart kills the service of 5,000 sessions and starts it again. Meanwhile one has changed, so that all must be told.
func BenchmarkRestart(b *testing.B) {
	const n = 5000

	for _, snapshot := range []bool{true, false} {
		name := "forgotten"
		if snapshot {
			name = "snapshot"
		}

		b.Run(name, func(b *testing.B) {
			c := newCrowd(b, n)
			path := filepath.Join(b.TempDir(), "state")

			c.start("")
			all := c.acquainted(n)
			c.right("start", c.back, 10*time.Minute)

			var took, used time.Duration

			for i := range b.N {
				from := ""

				if snapshot {
					from = path

					c.save(path)
				}

				c.stop()
				c.publish(all[i%n], fmt.Sprint("changed for the ", i, ". time"))
				time.Sleep(time.Second)
				c.start(from)
				took += c.right("restart", c.back, 10*time.Minute)
				used += processorTime() - c.back.used
			}

			b.ReportMetric(took.Seconds()/float64(b.N), "s/right")
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/right")
			b.ReportMetric(0, "ns/op")

			if len(c.wrong) > 0 {
				b.Errorf("%d living members were lost, first: %s", len(c.wrong), c.wrong[0])
			}
		})
	}
}
