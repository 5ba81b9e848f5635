// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/container"
)

// imageNamespaces map the API's names of containerd's namespaces to containerd's.
var imageNamespaces = map[common.ContainerdNamespace]string{
	common.ContainerdNamespace_NS_SYSTEM: container.NamespaceSystem,
	common.ContainerdNamespace_NS_CRI:    container.NamespacePods,
}

// withImages calls fn with the images of a namespace.
func (s *Server) withImages(what string, namespace common.ContainerdNamespace, fn func(*container.Images) error) error {
	name, ok := imageNamespaces[namespace]
	if !ok {
		return status.Errorf(codes.InvalidArgument, "%s: containerd's namespace %d is unknown: name system (NS_SYSTEM) or cri (NS_CRI)", what, namespace)
	}

	images, err := s.Registries.OpenImages(cmp.Or(s.Containerd, layout.ContainerdSocket), name)
	if err != nil {
		return status.Errorf(codes.Unavailable, "%s: %v; see: talosctl service cri", what, err)
	}
	defer images.Close()

	if err := fn(images); err != nil {
		return containerdError(what, err)
	}

	return nil
}

// ImageList implements machine.MachineService.
func (s *Server) ImageList(req *machine.ImageListRequest, stream grpc.ServerStreamingServer[machine.ImageListResponse]) error {
	return s.withImages("list images", req.GetNamespace(), func(images *container.Images) error {
		return images.List(stream.Context(), func(i container.Stored) error {
			return stream.Send(&machine.ImageListResponse{Name: i.Name, Digest: i.Digest, Size: i.Size, CreatedAt: timestamppb.New(i.Created)})
		})
	})
}

// ImagePull implements machine.MachineService.
func (s *Server) ImagePull(ctx context.Context, req *machine.ImagePullRequest) (*machine.ImagePullResponse, error) {
	err := s.withImages("pull image", req.GetNamespace(), func(images *container.Images) error {
		_, err := images.Pull(ctx, req.GetReference(), nil)

		return err
	})
	if err != nil {
		return nil, err
	}

	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, nil
}

// imageService implements machine.ImageService, whose method names clash with those of other services.
type imageService struct {
	machine.UnimplementedImageServiceServer

	*Server
}

// List implements machine.ImageService.
func (s imageService) List(req *machine.ImageServiceListRequest, stream grpc.ServerStreamingServer[machine.ImageServiceListResponse]) error {
	return s.withImages("list images", req.GetContainerd().GetNamespace(), func(images *container.Images) error {
		return images.List(stream.Context(), func(i container.Stored) error {
			return stream.Send(&machine.ImageServiceListResponse{
				Name: i.Name, Digest: i.Digest, Size: i.Size, CreatedAt: timestamppb.New(i.Created), Labels: i.Labels,
			})
		})
	})
}

var layerStates = map[container.LayerState]machine.ImageServicePullLayerProgress_Status{
	container.Downloading:  machine.ImageServicePullLayerProgress_DOWNLOADING,
	container.Downloaded:   machine.ImageServicePullLayerProgress_DOWNLOAD_COMPLETE,
	container.Extracted:    machine.ImageServicePullLayerProgress_EXTRACT_COMPLETE,
	container.AlreadyThere: machine.ImageServicePullLayerProgress_ALREADY_EXISTS,
}

// Pull implements machine.ImageService. The last message has the image's name.
func (s imageService) Pull(req *machine.ImageServicePullRequest, stream grpc.ServerStreamingServer[machine.ImageServicePullResponse]) error {
	return s.withImages("pull image", req.GetContainerd().GetNamespace(), func(images *container.Images) error {
		name, err := images.Pull(stream.Context(), req.GetImageRef(), func(p container.LayerProgress) {
			// If the caller has disconnected, the context ends the pull.
			stream.Send(&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_PullProgress{
				PullProgress: &machine.ImageServicePullProgress{LayerId: p.Digest, Progress: &machine.ImageServicePullLayerProgress{
					Status: layerStates[p.State], Elapsed: durationpb.New(p.Elapsed), Offset: p.Offset, Total: p.Total,
				}},
			}})
		})
		if err != nil {
			return err
		}

		return stream.Send(&machine.ImageServicePullResponse{Response: &machine.ImageServicePullResponse_Name{Name: name}})
	})
}

// Import implements machine.ImageService. The archive is passed on to containerd as it arrives.
func (s imageService) Import(stream grpc.ClientStreamingServer[machine.ImageServiceImportRequest, machine.ImageServiceImportResponse]) error {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}

	instance := first.GetContainerd()
	if instance == nil {
		return status.Error(codes.InvalidArgument, "import image: the first message must name containerd's namespace")
	}

	var name string

	err = s.withImages("import image", instance.GetNamespace(), func(images *container.Images) error {
		name, err = images.Import(stream.Context(), &chunks{next: func() ([]byte, error) {
			msg, err := stream.Recv()
			if err == nil && msg.GetImageChunk() == nil {
				err = status.Error(codes.InvalidArgument, "import image: a message after the first must contain a chunk of the archive")
			}

			return msg.GetImageChunk().GetBytes(), err
		}})

		return err
	})
	if err != nil {
		return err
	}

	return stream.SendAndClose(&machine.ImageServiceImportResponse{Name: name})
}

// Remove implements machine.ImageService.
func (s imageService) Remove(ctx context.Context, req *machine.ImageServiceRemoveRequest) (*emptypb.Empty, error) {
	err := s.withImages("remove image", req.GetContainerd().GetNamespace(), func(images *container.Images) error {
		return images.Remove(ctx, req.GetImageRef())
	})

	return &emptypb.Empty{}, err
}
