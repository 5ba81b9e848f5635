// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/errdefs"
	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/sys/cgroup"
)

const (
	// interactivePrefix begins the ids of interactive containers.
	interactivePrefix = "debug-"
	// HostRoot is where the machine's own files are mounted in a privileged interactive container.
	HostRoot = "/host"
	// endTimeout bounds the removal of an interactive container.
	endTimeout = 15 * time.Second
)

// Interactive is a container with a terminal or pipes attached. It is removed completely when it ends. It runs in the machine's own
// network, PID and IPC namespaces.
type Interactive struct {
	// Image is one that containerd has; Images.Pull completes its name.
	Image string
	// Args is the whole command line. When empty, the image's entry point and command are used.
	Args []string
	// Env is added to the image's, as NAME=VALUE.
	Env []string
	// Privileged gives all capabilities and devices, and the machine's files below HostRoot.
	Privileged bool
	// Terminal gives it a terminal, whose size comes from Sizes. Without one, the end of Stdin closes its standard input.
	Terminal bool
	Stdin    io.Reader
	// Output gets its standard output and standard error, one call at a time.
	Output io.Writer
	// Signals are sent to its first process.
	Signals <-chan syscall.Signal
	Sizes   <-chan Size

	output *passed // to Output
}

// Size of a terminal, in characters.
type Size struct{ Width, Height uint32 }

// creating is held while an interactive container is created: until it has a task it looks like a leftover.
var creating sync.Mutex

// RunInteractive runs the container until it ends, or the context does, and returns its exit status.
func (i *Images) RunInteractive(ctx context.Context, c *Interactive) (exitCode uint32, err error) {
	// The cleanup of the container must continue after ctx is done.
	background := i.context(context.WithoutCancel(ctx))
	ctx = i.context(ctx)

	image, err := stored(ctx, i.client, c.Image)
	if image == nil && errdefs.IsNotFound(err) {
		return 0, fmt.Errorf("%s: %w", c.Image, ErrNoImage)
	}

	if err != nil {
		return 0, fmt.Errorf("look up image %s: %w", c.Image, err)
	}

	id := interactivePrefix + strings.ToLower(rand.Text()[:10])
	inputEnded, end := context.WithCancel(background)

	defer func() {
		end()

		within, cancel := context.WithTimeout(background, endTimeout)
		defer cancel()

		if failed := remove(within, i.client, id); failed != nil {
			err = errors.Join(err, fmt.Errorf("remove container %s: %w", id, failed))
		}
	}()

	task, exited, err := i.createInteractive(ctx, background, c, id, image, endingReader{c.Stdin, end})
	if err != nil {
		return 0, err
	}

	// The runtime holds standard input open until this call.
	stop := context.AfterFunc(inputEnded, func() { task.CloseIO(background, containerd.WithStdinCloser) }) // it fails when the task has ended
	defer stop()

	return c.attend(ctx, background, task, exited)
}

func (i *Images) createInteractive(
	ctx, background context.Context, c *Interactive, id string, image containerd.Image, input io.Reader,
) (containerd.Task, <-chan containerd.ExitStatus, error) {
	creating.Lock()
	defer creating.Unlock()

	if err := i.removeLeftovers(ctx); err != nil {
		return nil, nil, err
	}

	cntr, err := i.client.NewContainer(ctx, id,
		containerd.WithImage(image),
		containerd.WithNewSnapshot(id, image),
		containerd.WithNewSpec(c.spec(id, i.client, image)...),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("create container %s: %w", id, err)
	}

	c.output = &passed{w: c.Output}

	attached := []cio.Opt{cio.WithStreams(input, c.output, c.output)}
	if c.Terminal {
		attached = []cio.Opt{cio.WithStreams(input, c.output, nil), cio.WithTerminal}
	}

	task, err := cntr.NewTask(ctx, cio.NewCreator(attached...))
	if err != nil {
		return nil, nil, fmt.Errorf("create the task of container %s: %w", id, err)
	}

	exited, err := task.Wait(background)
	if err == nil {
		err = task.Start(ctx)
	}

	if err != nil {
		return nil, nil, fmt.Errorf("start container %s: %w", id, err)
	}

	return task, exited, nil
}

// attend forwards signals and sizes until the container has ended and its output was read.
func (c *Interactive) attend(ctx, background context.Context, task containerd.Task, exited <-chan containerd.ExitStatus) (uint32, error) {
	for {
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case signal := <-c.Signals:
			if err := task.Kill(ctx, signal); err != nil && !errdefs.IsNotFound(err) {
				return 0, fmt.Errorf("signal %d: %w", signal, err)
			}
		case size := <-c.Sizes:
			if err := task.Resize(ctx, size.Width, size.Height); err != nil && !errdefs.IsNotFound(err) {
				return 0, fmt.Errorf("size of the terminal: %w", err)
			}
		case status := <-exited:
			code, _, err := status.Result()
			if err != nil {
				return 0, fmt.Errorf("wait for the container: %w", err)
			}

			return code, c.finish(ctx, background, task)
		}
	}
}

// finish ends a container whose first process has ended.
func (c *Interactive) finish(ctx, background context.Context, task containerd.Task) error {
	end, cancel := context.WithTimeout(background, endTimeout)
	defer cancel()

	// Kill the remaining processes, which hold the output open.
	if err := containerd.WithProcessKill(end, task); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("end the container: %w", err)
	}

	// Delete drops the output that was not read before.
	c.output.drain(ctx, task.IO().Wait, endTimeout)

	end, cancel = context.WithTimeout(background, endTimeout)
	defer cancel()

	if _, err := task.Delete(end); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("end the container: %w", err)
	}

	return nil
}

// removeLeftovers removes the containers of an earlier boot.
func (i *Images) removeLeftovers(ctx context.Context) error {
	all, err := i.client.Containers(ctx)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}

	for _, cntr := range all {
		if !strings.HasPrefix(cntr.ID(), interactivePrefix) {
			continue
		}

		if _, err := cntr.Task(ctx, nil); err == nil || !errdefs.IsNotFound(err) {
			continue
		}

		if err := remove(ctx, i.client, cntr.ID()); err != nil {
			return fmt.Errorf("remove leftover container %s: %w", cntr.ID(), err)
		}
	}

	return nil
}

// spec returns the options of the OCI runtime spec.
func (c *Interactive) spec(id string, client *containerd.Client, image containerd.Image) []oci.SpecOpts {
	runner := Container{Cgroup: cgroup.PodRuntime.Path + "/" + id, OOMScoreAdj: 1000}

	opts := []oci.SpecOpts{
		oci.WithDefaultSpec(),
		withImageConfig(image),
		withImageUser(client, image),
		oci.WithEnv(c.Env),
		oci.WithHostNamespace(specs.NetworkNamespace),
		oci.WithHostNamespace(specs.PIDNamespace),
		oci.WithHostNamespace(specs.IPCNamespace),
		oci.WithHostHostsFile,
		oci.WithHostResolvconf,
		oci.WithCgroup("/" + runner.Cgroup),
		runner.resources,
	}

	if len(c.Args) > 0 {
		opts = append(opts, oci.WithProcessArgs(c.Args...))
	}

	if c.Terminal {
		opts = append(opts, oci.WithTTY)
		if !slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "TERM=") }) {
			opts = append(opts, oci.WithEnv([]string{"TERM=xterm"}))
		}
	}

	if c.Privileged {
		opts = append(opts, privileged()...)
		opts = append(opts, oci.WithMounts([]specs.Mount{{
			Type: "bind", Source: "/", Destination: HostRoot, Options: []string{"rbind", "rslave", "rw"},
		}}))
	}

	return opts
}

// endingReader calls end when its Reader has ended.
type endingReader struct {
	io.Reader

	end context.CancelFunc
}

func (r endingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.end()
	}

	return n, err
}
