// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/sys/pcap"
)

// Capture returns a function that writes the frames of the ports of names or, without names, each frame of the lab once
// to w. Frames of several networks become one file.
func (s *Supervisor) Capture(names []string) (func(ctx context.Context, w io.Writer) error, error) {
	wanted, err := s.captured(names)
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, w io.Writer) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.done, cancel)()

		s.log.Info("capture begins", "ports", wanted)

		var (
			all  sync.WaitGroup
			mu   sync.Mutex
			errs []error
		)

		file := pcap.NewNgJoin(w)

		for network, ports := range wanted {
			all.Go(func() {
				count, err := s.networks[network].sw.Capture(ctx, netswitch.Capture{Ports: ports}, file.Source())
				s.log.Info("capture ends", "network", network, "frames", count.Frames, "dropped", count.Dropped)

				if err != nil { // end all parts of the file
					cancel()
					mu.Lock()
					errs = append(errs, fmt.Errorf("network %s: %w", network, err))
					mu.Unlock()
				}
			})
		}

		all.Wait()

		return errors.Join(errs...)
	}, nil
}

// captured returns the names of ports by network. No ports are all of a network.
func (s *Supervisor) captured(names []string) (map[string][]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	wanted := map[string][]string{}

	if len(names) == 0 {
		for name := range s.networks {
			wanted[name] = nil
		}
	}

	for _, name := range names {
		ports, err := s.lab.World.Find(s.lab.Machines(), name)
		if err != nil {
			return nil, err
		}

		for _, p := range ports {
			if !slices.Contains(wanted[p.Network], p.Name) {
				wanted[p.Network] = append(wanted[p.Network], p.Name)
			}
		}
	}

	return wanted, nil
}
