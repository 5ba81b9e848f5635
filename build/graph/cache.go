// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// kept is the number of results of one step in the cache: the current one and a few older ones, for changes of branches.
const kept = 3

// entry is one entry of the cache: CACHE/STEP/KEY with the files, CACHE/STEP/KEY.json with their digest. The latter is
// written last, so an entry without it is incomplete.
type entry struct {
	cache, step, key string
}

type record struct {
	Digest string    `json:"digest"`
	Made   time.Time `json:"made"`
}

// key hashes the inputs of a step.
func key(s Step, inputs []string, needs Results) string {
	h := sha256.New()
	enc := json.NewEncoder(h)

	// JSON separates the values. Hashing cannot fail.
	_ = enc.Encode(s.Name)
	_ = enc.Encode(inputs)

	for _, name := range slices.Sorted(slices.Values(s.Needs)) {
		_ = enc.Encode([]string{name, needs[name].Digest})
	}

	return hex.EncodeToString(h.Sum(nil))[:24]
}

func (e entry) dir() string      { return filepath.Join(e.cache, e.step, e.key) }
func (e entry) manifest() string { return e.dir() + ".json" }

// load returns the cached result, if there is one. A result whose files have changed since does not count: the files in the output folder are links
// to it.
func (e entry) load() (Result, bool) {
	raw, err := os.ReadFile(e.manifest())
	if err != nil {
		return Result{}, false
	}

	var r record
	if json.Unmarshal(raw, &r) != nil || r.Digest == "" {
		return Result{}, false
	}

	if digest, err := hashTree(e.dir()); err != nil || digest != r.Digest {
		return Result{}, false
	}

	return Result{Dir: e.dir(), Digest: r.Digest}, true
}

// begin creates an empty work folder, and removes that of an interrupted run.
func (e entry) begin() (string, error) {
	dir := e.dir() + ".part"

	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}

	return dir, os.MkdirAll(dir, 0o755)
}

// commit moves the work folder into the cache and removes old results.
func (e entry) commit(dir string) (Result, error) {
	digest, err := hashTree(dir)
	if err != nil {
		return Result{}, fmt.Errorf("hash result: %w", err)
	}

	if err := os.RemoveAll(e.dir()); err != nil {
		return Result{}, err
	}

	if err := os.Rename(dir, e.dir()); err != nil {
		return Result{}, err
	}

	raw, err := json.Marshal(record{Digest: digest, Made: time.Now().UTC()})
	if err != nil {
		return Result{}, err
	}

	if err := os.WriteFile(e.manifest(), raw, 0o644); err != nil {
		return Result{}, err
	}

	return Result{Dir: e.dir(), Digest: digest}, e.prune()
}

// prune removes all but the newest results of the step.
func (e entry) prune() error {
	manifests, err := filepath.Glob(filepath.Join(e.cache, e.step, "*.json"))
	if err != nil {
		return err
	}

	made := map[string]time.Time{}

	for _, m := range manifests {
		info, err := os.Stat(m)
		if err != nil {
			return err
		}

		made[m] = info.ModTime()
	}

	slices.SortFunc(manifests, func(a, b string) int {
		return cmp.Or(made[b].Compare(made[a]), strings.Compare(a, b))
	})

	for _, m := range manifests[min(kept, len(manifests)):] {
		if err := errors.Join(os.Remove(m), os.RemoveAll(strings.TrimSuffix(m, ".json"))); err != nil {
			return fmt.Errorf("remove old result: %w", err)
		}
	}

	return nil
}

// lock gets the exclusive lock of the cache. It calls wait once if another process has the lock.
func lock(ctx context.Context, cache string, wait func()) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}

	f, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}

	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}

		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = f.Close()

			return nil, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}

		if first {
			wait()
		}

		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			_ = f.Close()

			return nil, context.Cause(ctx)
		}
	}
}
