// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	secretsctl "github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Kubeconfig implements machine.MachineService. It sends a tar.gz with one file.
func (s *Server) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	ctx := stream.Context()

	cfg, err := s.configuration(ctx, "kubeconfig")
	if err != nil {
		return err
	}

	root, err := typed.Find[secrets.KubernetesRootSpec](ctx, s.State, "", secrets.KubernetesRootID)
	if err != nil {
		return err
	}

	if root == nil {
		return status.Error(codes.FailedPrecondition, "kubeconfig: only a control plane node can issue it; call one of those")
	}

	text, err := secretsctl.AdminKubeconfig(*root.TypedSpec(), cfg.AdminCertLifetime())
	if err != nil {
		return status.Errorf(codes.Internal, "kubeconfig: %v", err)
	}

	archive, err := tarGz("kubeconfig", text)
	if err != nil {
		return status.Errorf(codes.Internal, "kubeconfig: %v", err)
	}

	return stream.Send(&common.Data{Bytes: archive})
}

func tarGz(name string, content []byte) ([]byte, error) {
	var buf bytes.Buffer

	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)

	err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: time.Now()})
	_, writeErr := tw.Write(content)

	if err := errors.Join(err, writeErr, tw.Close(), zw.Close()); err != nil {
		return nil, fmt.Errorf("archive %s: %w", name, err)
	}

	return buf.Bytes(), nil
}
