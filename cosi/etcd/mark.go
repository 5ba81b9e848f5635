// SPDX-License-Identifier: Apache-2.0

package etcd

import "strconv"

// A mark is the place of a change in the history of the store, which bookmarks carry: the era, the revision of etcd,
// and the place among the changes of that revision, of which a transaction or the deletion of a prefix has many. It is
// the same for every process.
//
// The era counts how often etcd was seen to have been restored from a snapshot. Revisions are given out a second time
// then, for other changes, and a bookmark from before must not be taken for one of these. The first process that sees
// it writes the next era into etcd, in a key of its own beside those of the resources.
const (
	placeBits    = 16
	revisionBits = 40
	lastPlace    = 1<<placeBits - 2 // one more has not happened
	maxEra       = 1<<(64-placeBits-revisionBits) - 1
)

// markOf returns the mark of a change that is not the last one of its revision; that has the mark endOf. Changes beyond
// the last place but one share that.
func markOf(era uint64, revision int64, place int) uint64 {
	return era<<(revisionBits+placeBits) | uint64(revision)<<placeBits | uint64(min(place, lastPlace-1))
}

// endOf returns the mark of the last change of a revision.
func endOf(era uint64, revision int64) uint64 { return markOf(era, revision, 0) | lastPlace }

// eraOf reads the value of the key of the era; what is none counts as the first.
func eraOf(value []byte) uint64 {
	era, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0
	}

	return min(era, maxEra)
}
