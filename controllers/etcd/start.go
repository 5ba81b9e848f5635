// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"os"
	"path/filepath"
)

// Start is how etcd is to be started.
type Start uint8

// The ways.
const (
	// StartWait: there is no data, and nobody asked to start a cluster.
	StartWait Start = iota
	// StartData: from the data of an earlier run.
	StartData
	// StartNew: as the first member of a new cluster.
	StartNew
)

// decide chooses. Data always wins: a wish to start a cluster that has been started already changes nothing.
func decide(hasData, bootstrapWanted bool) Start {
	switch {
	case hasData:
		return StartData
	case bootstrapWanted:
		return StartNew
	default:
		return StartWait
	}
}

// hasData tells whether etcd has ever written its log into the directory. A directory that a power cut left without
// one is as good as empty: etcd makes the log whole, by rename, before it does anything else.
func hasData(dir string) (bool, error) {
	logs, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if err != nil {
		return false, fmt.Errorf("etcd data directory %s: %w", dir, err)
	}

	return len(logs) > 0, nil
}

// clearDataDir removes what an interrupted first start left.
func clearDataDir(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, "member")); err != nil {
		return fmt.Errorf("etcd data directory: remove what an interrupted start left: %w", err)
	}

	return nil
}
