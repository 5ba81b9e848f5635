// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
)

// ErrNotConnected is the error of a question to a source that is out of reach.
var ErrNotConnected = errors.New("there is no connection")

// List asks the source once for the other affiliates, by id, over the session's connection. It is for a session that does not watch.
func (s *Session) List(ctx context.Context) (map[string]Affiliate, error) {
	s.mu.Lock()
	api := s.api
	s.mu.Unlock()

	var (
		answer *serverapi.ListResponse
		err    = ErrNotConnected
	)

	if api != nil {
		answer, err = api.List(ctx, &serverapi.ListRequest{ClusterId: s.options.ClusterID})
	}

	if err != nil {
		return nil, fmt.Errorf("discovery source %s: list the affiliates: %w", s.options.Name, err)
	}

	found := map[string]Affiliate{}

	for _, a := range answer.GetAffiliates() {
		id := a.GetId()
		if id == "" || id == s.options.AffiliateID || len(id) > maxID || len(found) >= maxRecords {
			continue
		}

		if r := read(s.cipher, extension.Member{ID: id, Data: a.GetData(), Endpoints: a.GetEndpoints()}, 0); r.affiliate != nil {
			found[id] = *r.affiliate
		}
	}

	return found, nil
}
