// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/config"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/network"
	"github.com/seed-59268b81/talos/cosi/typed"
	networkres "github.com/seed-59268b81/talos/resources/network"
)

// ApplyConfiguration implements machine.MachineService. AUTO means NO_REBOOT: no setting needs a reboot. Both are on trial until the machine was
// healthy for a while, unless the caller says otherwise.
func (s *Server) ApplyConfiguration(ctx context.Context, req *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	change := config.Change{
		Text: req.GetData(), DryRun: req.GetDryRun(),
		By:        "apply-config" + caller(ctx),
		Anonymous: !slices.Contains(rolesFrom(ctx), contract.RoleAdmin),
	}

	md, _ := metadata.FromIncomingContext(ctx)
	for _, from := range md.Get(contract.KeyConfigFrom) {
		var err error
		if change.From, err = config.ParseVersion(from); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "apply: %v", err)
		}
	}

	var err error
	if change.Caller, err = s.peerOf(ctx, md); err != nil {
		return nil, status.Errorf(codes.Internal, "apply: %v", err)
	}

	mode := req.GetMode()

	commit, err := commitOf(md)
	if err != nil {
		return nil, err
	}

	switch mode {
	case machine.ApplyConfigurationRequest_AUTO, machine.ApplyConfigurationRequest_NO_REBOOT:
		mode, change.Mode = machine.ApplyConfigurationRequest_NO_REBOOT, config.Default

		switch commit {
		case contract.CommitHealthy: // other clients send a timeout with each mode
			change.Trial = req.GetTryModeTimeout().AsDuration()
		case contract.CommitNow:
			change.Mode = config.Now
		}
	case machine.ApplyConfigurationRequest_STAGED:
		change.Mode = config.Staged

		switch commit {
		case contract.CommitHealthy:
			change.Trial = req.GetTryModeTimeout().AsDuration()
		case contract.CommitNow:
			change.Mode = config.StagedNow
		}
	case machine.ApplyConfigurationRequest_TRY:
		if change.Mode, err = tryMode(commit); err != nil {
			return nil, err
		}

		change.Trial = req.GetTryModeTimeout().AsDuration()
	case machine.ApplyConfigurationRequest_REBOOT:
		// Old clients send the zero value to a machine without a configuration.
		if !change.Anonymous {
			return nil, status.Error(codes.Unimplemented, "apply with a reboot: a configuration takes effect without one; use mode auto or no-reboot, or staged for the next boot")
		}

		mode, change.Mode = machine.ApplyConfigurationRequest_NO_REBOOT, config.Default
	default:
		return nil, status.Errorf(codes.InvalidArgument, "apply: mode %d is unknown; use auto, no-reboot, staged or try", mode)
	}

	endsDHCP, err := network.EndsDHCP(ctx, s.State) // it asks about the configuration before
	if err != nil {
		return nil, status.Errorf(codes.Internal, "apply: %v", err)
	}

	applied, err := s.Config.Apply(ctx, change)
	if err != nil {
		return nil, refused("apply", err)
	}

	warnings := slices.Concat(applied.Warnings, withoutDHCP(endsDHCP(view.Of(applied.Config))))

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{
		Warnings: warnings, Mode: mode, ModeDetails: applied.Details,
	}}}, nil
}

// peerOf returns the address of the other machine that a call is from, or the zero value.
func (s *Server) peerOf(ctx context.Context, md metadata.MD) (netip.Addr, error) {
	own, err := typed.Find[networkres.NodeAddressSpec](ctx, s.State, "", networkres.NodeAddressCurrentID)
	if err != nil {
		return netip.Addr{}, err
	}

	for _, text := range md.Get(contract.KeyPeer) {
		addr, err := netip.ParseAddr(text)
		if err == nil && !addr.IsLoopback() && (own == nil || !slices.Contains(own.TypedSpec().IPs(), addr.WithZone(""))) {
			return addr.WithZone(""), nil
		}
	}

	return netip.Addr{}, nil
}

// commitOf returns when the caller wants the configuration to be committed, or an empty string.
func commitOf(md metadata.MD) (commit string, err error) {
	for _, when := range md.Get(contract.KeyCommit) {
		if when != contract.CommitHealthy && when != contract.CommitNow {
			return "", status.Errorf(codes.InvalidArgument, "apply: %s: %q is unknown to this version (want %q or %q)", contract.KeyCommit, when,
				contract.CommitHealthy, contract.CommitNow)
		}

		commit = when
	}

	return commit, nil
}

// tryMode returns the mode of a configuration that is tried.
func tryMode(commit string) (config.Mode, error) {
	switch commit {
	case "":
		return config.Try, nil
	case contract.CommitHealthy:
		return config.TryHealthy, nil
	default:
		return 0, status.Errorf(codes.InvalidArgument, "apply: %s: %q contradicts the mode try; use auto or no-reboot", contract.KeyCommit, commit)
	}
}

// withoutDHCP returns the warning about network cards that lose DHCP, if any.
func withoutDHCP(cards []string) []string {
	if len(cards) == 0 {
		return nil
	}

	return []string{"DHCP ends on " + strings.Join(cards, ", ") + ", and nothing else gives an address there: a document about a link or a DHCP client ends " +
		"DHCP by default on all network cards; add a DHCPv4Config for each card that needs it"}
}

// configuration returns the active configuration, for an operation that needs one.
func (s *Server) configuration(ctx context.Context, operation string) (*view.Config, error) {
	cfg, err := fromconfig.Active(ctx, s.State)
	if err == nil && cfg == nil {
		err = status.Errorf(codes.FailedPrecondition, "%s: the machine has no configuration yet; apply one first (talosctl apply-config)", operation)
	}

	return cfg, err
}
