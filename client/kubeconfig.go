// SPDX-License-Identifier: Apache-2.0

package client

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
)

// Kubeconfig returns a kubeconfig with a new admin certificate, YAML. Only control plane nodes issue it.
func (c *Client) Kubeconfig(ctx context.Context) ([]byte, error) {
	stream := newDataReader(ctx, "kubeconfig", c.Machine.Kubeconfig, &emptypb.Empty{})
	defer stream.Close()

	return unpackKubeconfig(stream)
}

func unpackKubeconfig(r io.Reader) ([]byte, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("unpack kubeconfig: %w", err)
	}

	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("unpack kubeconfig: the archive contains no file named kubeconfig")
		}

		if err != nil {
			return nil, fmt.Errorf("unpack kubeconfig: %w", err)
		}

		if header.Name != "kubeconfig" || header.Typeflag != tar.TypeReg {
			continue
		}

		content, err := io.ReadAll(io.LimitReader(archive, contract.MaxMessage))
		if err != nil {
			return nil, fmt.Errorf("unpack kubeconfig: %w", err)
		}

		return content, nil
	}
}
