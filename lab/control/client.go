// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/world"
)

// Client is a client of a running lab.
type Client struct {
	http    *http.Client
	running func() error
}

// NewClient returns a client of the lab with a socket. Each call first checks running, which fails for a lab that
// cannot answer.
func NewClient(socket string, running func() error) *Client {
	return &Client{running: running, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			short, done, err := shortPath(socket)
			if err != nil {
				return nil, err
			}
			defer done()

			return new(net.Dialer).DialContext(ctx, "unix", short)
		},
		// An open connection would delay the supervisor's end.
		DisableKeepAlives: true,
	}}}
}

// Status returns the status of the lab.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	if err := c.call(ctx, http.MethodGet, "/status", nil, &s); err != nil {
		return nil, err
	}

	return &s, nil
}

// Power presses a node's power button.
func (c *Client) Power(ctx context.Context, node string, action Action) error {
	return c.call(ctx, http.MethodPost, "/nodes/"+url.PathEscape(node)+"/power", power{action}, nil)
}

// SetCard plugs a node's card in, or unplugs it.
func (c *Client) SetCard(ctx context.Context, node string, number int, unplugged bool) error {
	return c.call(ctx, http.MethodPut, "/nodes/"+url.PathEscape(node)+"/cards/"+strconv.Itoa(number), card{unplugged}, nil)
}

// SetDisk sets how the disks of a node behave.
func (c *Client) SetDisk(ctx context.Context, node string, disk machine.Disk) error {
	return c.call(ctx, http.MethodPut, "/nodes/"+url.PathEscape(node)+"/disk", disk, nil)
}

// SetLink sets the faults of the links of a name; see world.Find.
func (c *Client) SetLink(ctx context.Context, name string, link netswitch.Link) error {
	return c.call(ctx, http.MethodPut, "/links/"+url.PathEscape(name), link, nil)
}

// SetPath sets the fault of a one-way path.
func (c *Client) SetPath(ctx context.Context, fault PathFault) error {
	return c.call(ctx, http.MethodPut, "/paths", fault, nil)
}

// SetServices sets the behaviour of a network's services.
func (c *Client) SetServices(ctx context.Context, network string, s world.Services) error {
	return c.call(ctx, http.MethodPut, "/networks/"+url.PathEscape(network)+"/services", s, nil)
}

// SetLeg sets the NAT and the filters of a router's leg.
func (c *Client) SetLeg(ctx context.Context, router, network string, s world.Setting) error {
	return c.call(ctx, http.MethodPut, "/routers/"+url.PathEscape(router)+"/legs/"+url.PathEscape(network), s, nil)
}

// Heal removes all faults. Unplugged cards stay unplugged.
func (c *Client) Heal(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/faults", struct{}{}, nil)
}

// Stop ends the lab's machines and its supervisor.
func (c *Client) Stop(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/stop", nil, nil)
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	answer, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer answer.Close()

	if out == nil {
		return nil
	}

	if err := json.NewDecoder(answer).Decode(out); err != nil {
		return fmt.Errorf("call the lab: %s %s: answer: %w", method, path, err)
	}

	return nil
}

// send returns the body of the lab's answer, or the error that it answers.
func (c *Client) send(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	if err := c.running(); err != nil {
		return nil, err
	}

	var body bytes.Buffer

	if in != nil { // a body that the server does not read hides the end of the client
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return nil, fmt.Errorf("call the lab: %s %s: %w", method, path, err)
		}
	}

	request, err := http.NewRequestWithContext(ctx, method, "http://lab"+path, &body)
	if err != nil {
		return nil, fmt.Errorf("call the lab: %s %s: %w", method, path, err)
	}

	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("call the lab: %w", err)
	}

	if response.StatusCode < http.StatusBadRequest {
		return response.Body, nil
	}
	defer response.Body.Close()

	var f failure

	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, json.Unmarshal(answer, &f)); err != nil || f.Error == "" {
		return nil, fmt.Errorf("call the lab: %s %s: %s: %.200s", method, path, response.Status, answer)
	}

	return nil, errors.New(f.Error)
}
