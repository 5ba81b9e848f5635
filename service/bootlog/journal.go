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
	// writeInterval is how often lines are written to the file, syncInterval how often the file is synced to the disk.
	writeInterval = time.Second
	syncInterval  = 5 * time.Second
)

// Journal writes the logs of this boot, and reads those of earlier boots. Lines before Open are kept in memory.
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
	failed error // of the last write

	stop    chan struct{}
	stopped chan struct{}
}

// New returns a journal that is closed.
func New(limits Limits) *Journal { return &Journal{limits: limits, queue: newQueue(limits, time.Now)} }

// Append adds a line to a log. It never blocks, and copies the line.
func (j *Journal) Append(id string, text []byte) { j.queue.add(id, text) }

// Open begins to write the logs of the given boot below dir. report is called with an error when writing fails, and with nil when it
// works again. Settle records how earlier boots ended.
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

// open creates the folder of the boot, or finds it; the lock is held.
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

// Settle records the end and the reason of earlier boots that have none. The last one gets those of the evidence, which is then cleared. Lines
// of a boot that left no logs, such as that of a version which does not start, go into this boot's.
// Settle is separate from Open because gathering evidence takes time, in which this boot has logs already. On a closed journal it does
// nothing.
func (j *Journal) Settle(e Evidence) error {
	j.mu.Lock()
	defer j.mu.Unlock()

	if j.dir == "" {
		return nil
	}

	all, err := folders(j.dir)
	if err != nil {
		return fmt.Errorf("record how earlier boots ended: %w", err)
	}

	var errs []error

	for i := slices.Index(all, j.folder) - 1; i >= 0; i-- {
		errs = append(errs, j.settle(all[i], e))
		e = Evidence{} // it is only of the last boot
	}

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("record how earlier boots ended: %w", err)
	}

	return nil
}

// settle records how a boot ended that has no reason.
func (j *Journal) settle(folder string, e Evidence) error {
	b := readRecord(folder)
	if b.Reason != "" {
		if len(e.Lines) > 0 {
			j.queue.add(PStore, []byte("a boot that left no logs: "+e.Reason()))
		}

		for _, l := range e.Lines {
			j.queue.add(PStore, []byte(l))
		}

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

		if j.dir == "" { // it was closed
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

// write writes the queue to the file and, with sync, the file to the disk; the lock is held.
func (j *Journal) write(sync bool) error {
	frames := j.queue.take()

	if len(frames) > 0 {
		if err := j.rotate(int64(len(frames))); err != nil {
			j.queue.putBack(frames)

			return fmt.Errorf("write the logs of this boot: %w", err)
		}

		n, err := j.file.Write(frames)
		if err != nil {
			err = errors.Join(err, j.abandon())
			j.queue.putBack(frames)

			return fmt.Errorf("write the logs of this boot: %w", err)
		}

		j.size += int64(n)
		j.queue.kept()
	}

	if sync && j.file != nil {
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("write the logs of this boot: %w", err)
		}

		j.synced = time.Now()
	}

	return nil
}

// rotate begins a new segment when the current one is full.
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

// abandon closes a segment whose last record may be incomplete: records behind that could not be read, so the next record begins a new
// segment. An empty segment is removed, or a full disk would get a new one with each attempt.
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

// End records why this boot ends. The reason is on the disk when End returns. Only the first reason is recorded.
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

// Close writes the queue and closes the file. The journal can be opened again.
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

// Folder returns the folder of the logs below the mount point of EPHEMERAL.
func Folder(ephemeral string) string { return filepath.Join(ephemeral, "log", "boots") }
