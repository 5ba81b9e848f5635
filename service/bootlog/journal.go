// SPDX-License-Identifier: Apache-2.0

package bootlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/durable"
)

const (
	// writeInterval is how often what has come is given to the kernel, syncInterval how often to the disk.
	writeInterval = time.Second
	syncInterval  = 5 * time.Second
)

// Journal writes the logs of this boot, and reads those of others. What is logged before Open waits in memory.
type Journal struct {
	limits Limits
	queue  *queue

	mu     sync.Mutex
	dir    string // of all boots; "" while closed
	folder string // of this boot
	boot   Boot
	file   *os.File
	size   int64
	synced time.Time
	failed error // of the last write, told once

	stop    chan struct{}
	stopped chan struct{}
}

// New returns a journal that is closed.
func New(limits Limits) *Journal { return &Journal{limits: limits, queue: newQueue(limits, time.Now)} }

// Append adds a line to a log; it never blocks, and the line is copied.
func (j *Journal) Append(id string, text []byte) { j.queue.add(id, text) }

// Open starts to keep the logs below dir, as those of the given boot. report is told when writing fails, and when it is well
// again (with nil). How the boots before it ended is for Settle.
func (j *Journal) Open(dir string, boot Boot, report func(error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()

	if j.dir != "" {
		return nil
	}

	if err := j.open(dir, boot); err != nil {
		return fmt.Errorf("open the logs of boots: %w", err)
	}

	j.stop, j.stopped = make(chan struct{}), make(chan struct{})

	stop, stopped := j.stop, j.stopped
	guard.Go(func() error { j.run(stop, stopped, report); return nil })

	return nil
}

// open makes the folder of the boot, or finds it; the lock is held.
func (j *Journal) open(dir string, boot Boot) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	all, err := folders(dir)
	if err != nil {
		return err
	}

	folder := after(dir, all, "")

	if n := len(all); n > 0 {
		if last := readRecord(all[n-1]); last.ID == boot.ID && boot.ID != "" {
			folder, boot = all[n-1], last
		}
	}

	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}

	if err := errors.Join(writeRecord(folder, boot), durable.SyncDir(dir), prune(dir, folder, j.limits)); err != nil {
		return err
	}

	j.dir, j.folder, j.boot, j.synced, j.failed = dir, folder, boot, time.Now(), nil

	return nil
}

// Settle gives the boots before this one, which nobody has told the end of, their end and reason: the last one by the evidence,
// which is then cleared. It is not a part of Open because evidence may take its time to gather, in which this boot has logs, and
// may end, too. A closed journal settles nothing.
func (j *Journal) Settle(e Evidence) error {
	j.mu.Lock()
	defer j.mu.Unlock()

	if j.dir == "" {
		return nil
	}

	all, err := folders(j.dir)
	if err != nil {
		return fmt.Errorf("settle how boots ended: %w", err)
	}

	var errs []error

	for i := slices.Index(all, j.folder) - 1; i >= 0; i-- {
		errs = append(errs, settle(all[i], e))
		e = Evidence{} // it is of the last one only
	}

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("settle how boots ended: %w", err)
	}

	return nil
}

// settle says how a boot ended that could not say so itself.
func settle(folder string, e Evidence) error {
	b := readRecord(folder)
	if b.Reason != "" {
		e.Clear()

		return nil
	}

	if b.End = lastTime(folder); b.End.IsZero() {
		b.End = b.Start
	}

	b.Reason = e.Reason()

	if len(e.Lines) > 0 {
		paths, err := segments(folder)
		if err != nil {
			return err
		}

		var text []byte
		for _, l := range e.Lines {
			text = appendFrame(text, line{b.End, PStore, []byte(l)})
		}

		if err := durable.Write(after(folder, paths, segmentSuffix), text, 0o600); err != nil {
			return err
		}
	}

	if err := writeRecord(folder, b); err != nil {
		return err
	}

	e.Clear()

	return nil
}

func (j *Journal) run(stop <-chan struct{}, stopped chan<- struct{}, report func(error)) {
	defer close(stopped)

	ticker := time.NewTicker(writeInterval)
	defer ticker.Stop()

	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}

		j.mu.Lock()

		if j.dir == "" { // closed meanwhile
			j.mu.Unlock()

			return
		}

		before := j.failed
		j.failed = j.write(time.Since(j.synced) >= syncInterval)
		changed := (before == nil) != (j.failed == nil)
		now := j.failed
		j.mu.Unlock()

		if changed {
			report(now)
		}
	}
}

// write gives what waits to the kernel, and if asked to, to the disk; the lock is held.
func (j *Journal) write(sync bool) error {
	frames := j.queue.take()

	if len(frames) > 0 {
		if err := j.rotate(int64(len(frames))); err != nil {
			j.queue.putBack(frames)

			return fmt.Errorf("keep the logs of this boot: %w", err)
		}

		n, err := j.file.Write(frames)
		if err != nil {
			err = errors.Join(err, j.abandon())
			j.queue.putBack(frames)

			return fmt.Errorf("keep the logs of this boot: %w", err)
		}

		j.size += int64(n)
		j.queue.kept()
	}

	if sync && j.file != nil {
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("keep the logs of this boot: %w", err)
		}

		j.synced = time.Now()
	}

	return nil
}

// rotate makes sure that there is a segment with room.
func (j *Journal) rotate(more int64) error {
	if j.file != nil && j.size+more <= j.limits.Segment {
		return nil
	}

	if err := j.closeFile(); err != nil {
		return err
	}

	if err := prune(j.dir, j.folder, j.limits); err != nil {
		return err
	}

	paths, err := segments(j.folder)
	if err != nil {
		return err
	}

	file, err := os.OpenFile(after(j.folder, paths, segmentSuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}

	j.file, j.size = file, 0

	return durable.SyncDir(j.folder)
}

// abandon a segment whose end may be a torn record, which would hide what comes after it: the next is written into a file
// of its own. An empty one goes, or a disk that stays full would get one more with each attempt.
func (j *Journal) abandon() error {
	path := j.file.Name()
	err := errors.Join(j.file.Truncate(j.size), j.closeFile())

	if j.size == 0 {
		err = errors.Join(err, os.Remove(path))
	}

	return err
}

func (j *Journal) closeFile() error {
	if j.file == nil {
		return nil
	}

	err := errors.Join(j.file.Sync(), j.file.Close())
	j.file = nil

	return err
}

// End records why this boot ends, on the disk when it returns. The first reason stays.
func (j *Journal) End(reason string) error {
	j.mu.Lock()
	defer j.mu.Unlock()

	if j.dir == "" || j.boot.Reason != "" {
		return nil
	}

	boot := j.boot
	boot.End, boot.Reason = time.Now().UTC(), reason

	if err := errors.Join(j.write(true), writeRecord(j.folder, boot)); err != nil {
		return err
	}

	j.boot = boot

	return nil
}

// Close writes what waits and lets go of the disk. It can be opened again.
func (j *Journal) Close() error {
	j.mu.Lock()

	if j.dir == "" {
		j.mu.Unlock()

		return nil
	}

	close(j.stop)
	stopped := j.stopped
	err := errors.Join(j.write(true), j.closeFile())
	j.dir = ""
	j.mu.Unlock()

	<-stopped

	return err
}

// Folder is where the logs are kept below the mount point of EPHEMERAL.
func Folder(ephemeral string) string { return filepath.Join(ephemeral, "log", "boots") }
