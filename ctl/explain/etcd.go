// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// etcdLine is a line of etcd's log about another member.
type etcdLine struct {
	Msg   string `json:"msg"`
	Peer  string `json:"remote-peer-id"`
	Error string `json:"error"`
}

// leaderless are the messages of etcd, in its health and its log, without a majority of members.
var leaderless = []string{"no leader", "lost leader", "etcdserver: request timed out", "leader changed", "deadline exceeded"}

// quorumRule explains an etcd that runs without a quorum.
func quorumRule(f *Facts, s Symptom) *Finding {
	etcd := f.service("etcd")
	if etcd == nil || etcd.State != "Running" || etcd.up() {
		return nil
	}

	var evidence []string

	health := strings.ToLower(etcd.Health)
	if slices.ContainsFunc(leaderless, func(word string) bool { return strings.Contains(health, word) }) {
		evidence = append(evidence, "health of service etcd: "+etcd.Health)
	}

	lost := lostPeers(etcd.Log)

	if len(evidence) == 0 && len(lost) == 0 {
		return nil
	}

	for _, id := range slices.Sorted(maps.Keys(lost)) {
		evidence = append(evidence, fmt.Sprintf("log of etcd: member %s: %s", memberName(f.Members, id), lost[id]))
	}

	finding := &Finding{
		Says:     "etcd has no quorum: it has no leader",
		Evidence: evidence,
		Try: "bring the other control planes back, and let them reach each other at TCP port 2380; if they are lost, this version " +
			"cannot start etcd from a snapshot: restore it with etcdutl on another machine, or start a new cluster (talosctl bootstrap)",
	}

	if n := len(f.Members); n > 0 {
		finding.Says = fmt.Sprintf("etcd has no quorum: of its %d members it needs %d", n, n/2+1)

		switch len(lost) {
		case 0:
		case 1:
			finding.Says += ", and 1 does not answer"
		default:
			finding.Says += fmt.Sprintf(", and %d do not answer", len(lost))
		}
	}

	return finding
}

// lostPeers returns the last error of each member that is unreachable according to the log, by id.
func lostPeers(log []string) map[string]string {
	lost := map[string]string{}

	for _, text := range log {
		var line etcdLine
		if json.Unmarshal([]byte(text), &line) != nil {
			continue
		}

		switch {
		case line.Peer == "":
		case strings.HasPrefix(line.Msg, "prober detected unhealthy"), strings.HasPrefix(line.Msg, "failed to reach the peer"),
			strings.HasPrefix(line.Msg, "lost TCP streaming connection"), strings.HasPrefix(line.Msg, "peer became inactive"):
			if line.Error != "" {
				lost[line.Peer] = line.Error
			}
		case strings.HasPrefix(line.Msg, "peer became active"), strings.HasPrefix(line.Msg, "established TCP streaming connection"):
			delete(lost, line.Peer)
		}
	}

	return lost
}

func memberName(members []Member, id string) string {
	m := first(members, func(m Member) bool { return m.ID == id })
	if m == nil {
		return id
	}

	// A member has a name from its first start on.
	return fmt.Sprintf("%s (%s)", cmp.Or(m.Name, "that was never started"), strings.Join(m.PeerURLs, ", "))
}
