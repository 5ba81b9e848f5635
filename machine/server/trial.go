// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"

	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/controllers/config"
)

type trialService struct {
	trial.UnimplementedTrialServiceServer

	server *Server
}

// Confirm implements trial.TrialService.
func (s *trialService) Confirm(ctx context.Context, req *trial.ConfirmRequest) (*trial.ConfirmResponse, error) {
	decided, err := s.server.Config.Decide(ctx, config.Decision{ID: req.GetId(), Revert: req.GetRevert(), By: "talosctl confirm" + caller(ctx)})
	if err != nil {
		return nil, refused("confirm", err)
	}

	return &trial.ConfirmResponse{Messages: []*trial.Confirmation{{Id: decided.ID, State: string(decided.State), Details: decided.Why}}}, nil
}
