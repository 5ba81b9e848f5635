// SPDX-License-Identifier: Apache-2.0

package bolt

import (
	"errors"
	"os"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// room is the initial size of a file. When a page needs a new block, the file system writes a journal entry. The write waits
// for it, on a busy disk much longer than for the page itself.
const room = 1 << 20

// openRoomy opens a file with room; a missing file is created.
func openRoomy(path string) (*bbolt.DB, error) {
	db, err := openFile(path)
	if err != nil {
		return nil, err
	}

	// The library reads the size when it opens the file, and locks the file while it is open.
	added, err := addRoom(path)
	if err == nil && !added {
		return db, nil
	}

	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}

	return openFile(path)
}

func openFile(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		return nil, errors.New("another process has it open")
	}

	return db, err
}

// addRoom appends zeros to a small file.
func addRoom(path string) (added bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false, err
	}

	defer func() { err = errors.Join(err, f.Close()) }()

	info, err := f.Stat()
	if err != nil || info.Size() >= room {
		return false, err
	}

	// On a full disk this fails; the contents can be read all the same.
	f.WriteAt(make([]byte, room-info.Size()), info.Size())

	return true, f.Sync()
}
