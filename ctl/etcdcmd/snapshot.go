// SPDX-License-Identifier: Apache-2.0

package etcdcmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/durable"
)

func newEtcdSnapshotCommand(s *session.Session) *cobra.Command {
	return s.Flags(&cobra.Command{
		Use:   "snapshot FILE",
		Short: "Save the database of etcd",
		Long: `Save the etcd database of one node in a file, for talosctl bootstrap --recover-from.

The file is created only when it is complete: it ends with a checksum, which is verified.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				stream := n.EtcdSnapshot(ctx)
				defer stream.Close()

				size, err := saveSnapshot(args[0], stream)
				if err != nil {
					return fmt.Errorf("save etcd snapshot: %w", err)
				}

				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "etcd snapshot saved to %q (%s)\n", args[0], humanize.Bytes(uint64(size)))

				return err
			})
		},
	})
}

func saveSnapshot(path string, stream io.Reader) (size int64, err error) {
	err = durable.Replace(path, 0o600, func(file *os.File) error {
		sum := &snapshotSum{hash: sha256.New()}

		if size, err = io.Copy(io.MultiWriter(file, sum), stream); err != nil {
			return err
		}

		return sum.check()
	})

	return size, err
}

// snapshotSum verifies a snapshot of etcd while it is written: its last 32 bytes are the SHA-256 of the bytes before.
type snapshotSum struct {
	hash hash.Hash
	size int64
	tail []byte
}

func (s *snapshotSum) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	s.tail = append(s.tail, p...)

	if n := len(s.tail) - sha256.Size; n > 0 {
		s.hash.Write(s.tail[:n])
		s.tail = append(s.tail[:0], s.tail[n:]...)
	}

	return len(p), nil
}

// snapshotSector is the size of a sector: the size of a database is a multiple of it, so a checksum at the end can be recognized.
const snapshotSector = 512

func (s *snapshotSum) check() error {
	if s.size%snapshotSector != sha256.Size {
		return fmt.Errorf("it is incomplete: %d bytes are not a database with a checksum", s.size)
	}

	if string(s.hash.Sum(nil)) != string(s.tail) {
		return errors.New("it is damaged: its checksum does not match")
	}

	return nil
}
