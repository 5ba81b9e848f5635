// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/filetree"
)

// Start is how etcd is to be started.
type Start uint8

// The ways.
const (
	// StartWait: there is no data, and no request to start a cluster.
	StartWait Start = iota
	// StartData: from the data of an earlier run.
	StartData
	// StartNew: as the first member of a new cluster.
	StartNew
	// StartJoin: as a new member of a cluster.
	StartJoin
)

// decide chooses how to start. Data always wins: a request to start a cluster changes nothing once there is data.
func decide(hasData, bootstrapWanted, added bool) Start {
	switch {
	case hasData:
		return StartData
	case bootstrapWanted:
		return StartNew
	case added:
		return StartJoin
	default:
		return StartWait
	}
}

// hasData reports whether etcd has ever written its log into the directory. A directory without a log counts as empty, whatever a
// power cut left in it: etcd creates the whole log, by rename, before it does anything else.
func hasData(dir string) (bool, error) {
	logs, err := filetree.Match(filepath.Join(dir, layout.EtcdLogDir), layout.EtcdLogPattern)
	if err != nil {
		return false, fmt.Errorf("etcd data directory %s: %w", dir, err)
	}

	return len(logs) > 0, nil
}

// clearDataDir removes the files that an interrupted first start left.
func clearDataDir(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, "member")); err != nil {
		return fmt.Errorf("etcd data directory: remove the files of an interrupted start: %w", err)
	}

	return nil
}
