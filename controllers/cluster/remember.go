// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cluster"
)

// load reads the file on STATE, once.
func (c *discovery) load(ctx context.Context, rt controller.Runtime, f facts, log *slog.Logger) error {
	if c.loaded {
		return nil
	}

	dir, err := volume.Request(ctx, rt, discoveryName, discoveryRequester, block.VolumeState, released)
	if err != nil || dir == "" {
		return err
	}

	m, damaged, err := load(filepath.Join(dir, membersFile))
	if err != nil || damaged > 0 {
		log.Warn("some members that were known before this boot are lost", "damaged", damaged, "error", err)
	}

	if m.ClusterID != "" && m.ClusterID != f.settings.ServiceClusterID {
		m = past{}
	}

	for _, a := range m.others {
		if a.NodeID != f.own {
			c.roster.restore([]cluster.AffiliateSpec{a})
		}
	}

	c.memory, c.loaded, c.outdated, c.safe = m, true, true, m.Revision
	c.memory.ClusterID = f.settings.ServiceClusterID

	// The same content is not written again.
	if damaged == 0 && err == nil && m.ClusterID != "" {
		if c.kept, err = m.encode(); err != nil {
			return err
		}
	}

	rt.QueueReconcile() // the next round releases the volume

	return nil
}

// released is called before STATE is unmounted: nothing here keeps a file open.
func released(context.Context) error { return nil }

// store keeps what is known on STATE.
func (c *discovery) store(ctx context.Context, rt controller.Runtime, log *slog.Logger, now time.Time) (again time.Time, err error) {
	rt.StartTrackingOutputs()

	if c.loaded && !c.outdated {
		if again, err = c.storeChanged(ctx, rt, log, now); err != nil {
			return again, err
		}
	} else if !c.loaded {
		return again, nil // the request is that of load
	}

	return again, rt.CleanupOutputs(ctx, resource.KindOf[block.VolumeMountRequestSpec](""))
}

func (c *discovery) storeChanged(ctx context.Context, rt controller.Runtime, log *slog.Logger, now time.Time) (again time.Time, err error) {
	release := func() error {
		return volume.Release(ctx, rt, discoveryName, discoveryRequester, block.VolumeState)
	}

	if !c.unsaved {
		return again, release()
	}

	m := c.memory
	m.others = nil

	for _, a := range c.roster.newest() {
		m.others = append(m.others, a)
	}

	content, err := m.encode()
	if err != nil {
		return again, err
	}

	if bytes.Equal(content, c.kept) || len(m.others) == 0 && m.Revision == 0 {
		c.unsaved = false

		return again, release()
	}

	if end := c.keptAt.Add(pauseStore); now.Before(end) && c.safe >= m.Revision {
		return end, release()
	}

	dir, err := volume.Request(ctx, rt, discoveryName, discoveryRequester, block.VolumeState, released)
	if err != nil || dir == "" {
		return again, err
	}

	// With a disk that is full or broken, the machine goes on without the file.
	was := c.unstored
	if c.unstored = store(filepath.Join(dir, membersFile), content); c.unstored == nil {
		c.kept, c.unsaved = content, false
	} else if was == nil {
		log.Warn("the members of the cluster are not kept for the next boot", "error", c.unstored, "retry", pauseStore)
	}

	c.keptAt, c.safe = now, m.Revision

	rt.QueueReconcile() // the next round announces, and releases the volume

	return again, nil
}
