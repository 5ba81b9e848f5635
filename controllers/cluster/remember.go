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

	c.memory, c.loaded, c.outdated = m, true, true
	c.memory.ClusterID = f.settings.ServiceClusterID

	rt.QueueReconcile() // the next round releases the volume

	return nil
}

// released is called before STATE is unmounted: nothing here keeps a file open.
func released(context.Context) error { return nil }

// store keeps what is known on STATE.
func (c *discovery) store(ctx context.Context, rt controller.Runtime, now time.Time) (again time.Time, err error) {
	rt.StartTrackingOutputs()

	if c.loaded && !c.outdated {
		if again, err = c.storeChanged(ctx, rt, now); err != nil {
			return again, err
		}
	} else if !c.loaded {
		return again, nil // the request is that of load
	}

	return again, rt.CleanupOutputs(ctx, resource.KindOf[block.VolumeMountRequestSpec](""))
}

func (c *discovery) storeChanged(ctx context.Context, rt controller.Runtime, now time.Time) (again time.Time, err error) {
	release := func() error {
		return volume.Release(ctx, rt, discoveryName, discoveryRequester, block.VolumeState)
	}

	m := c.memory
	m.others = nil

	for _, a := range c.roster.newest() {
		m.others = append(m.others, a)
	}

	content, err := m.encode()
	if err != nil || bytes.Equal(content, c.kept) || len(c.roster.present)+len(c.roster.kept) == 0 && m.Revision == 0 {
		if err == nil {
			err = release()
		}

		return again, err
	}

	if end := c.keptAt.Add(pauseStore); now.Before(end) {
		return end, release()
	}

	dir, err := volume.Request(ctx, rt, discoveryName, discoveryRequester, block.VolumeState, released)
	if err != nil || dir == "" {
		return again, err
	}

	if err := store(filepath.Join(dir, membersFile), content); err != nil {
		return again, err
	}

	c.kept, c.keptAt = content, now

	rt.QueueReconcile() // the next round releases the volume

	return again, nil
}
