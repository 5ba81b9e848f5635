// SPDX-License-Identifier: Apache-2.0

package etcd

import "strconv"

// A mark is the place of a change in the history of the store, and is part of bookmarks. It consists of the era, the
// revision of etcd, and the place among the changes of that revision: a transaction or the deletion of a prefix makes many
// changes in one revision. The mark of a change is the same in every process.
//
// The era counts how often etcd was restored from a snapshot. After a restore, etcd gives the same revisions to other
// changes, and a bookmark from before must not be mistaken for one of those. The first process that notices a restore
// writes the next era into etcd, in a key beside those of the resources.
const (
	placeBits    = 16
	revisionBits = 40
	lastPlace    = 1<<placeBits - 2 // lastPlace+1 is not used
	maxEra       = 1<<(64-placeBits-revisionBits) - 1
)

// markOf returns the mark of a change that is not the last one of its revision; the last one has the mark endOf. All
// changes beyond the last place but one share one mark.
func markOf(era uint64, revision int64, place int) uint64 {
	return era<<(revisionBits+placeBits) | uint64(revision)<<placeBits | uint64(min(place, lastPlace-1))
}

// endOf returns the mark of the last change of a revision.
func endOf(era uint64, revision int64) uint64 { return markOf(era, revision, 0) | lastPlace }

// eraOf parses the value of the key of the era. A value that is not a number is the first era.
func eraOf(value []byte) uint64 {
	era, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0
	}

	return min(era, maxEra)
}
