// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/sys/platform"
)

// volumes begins the URLs of files of file systems.
const volumes = "volume://"

// AnyLabel in place of a label means each CD, whatever its label.
const AnyLabel = "*"

// Request is a request for one document.
type Request struct {
	// Method is GET if empty.
	Method string
	URL    string
	Header map[string]string
	// Body and its media type in Header, of a POST.
	Body []byte
	// LowPort requests a connection from a port below 1024.
	LowPort bool
	// Proxied permits a proxy of the environment, and servers of the authorities that the configuration trusts.
	Proxied bool
}

// Fetch carries out a request and returns the document.
type Fetch func(ctx context.Context, r Request) ([]byte, error)

// Cloud is a cloud on which the machine runs.
type Cloud struct {
	*cloud

	bases []string
}

// cloud is how a cloud is asked.
type cloud struct {
	name string
	// places returns the places of the documents, each a URL that ends with a slash. The first one that has a document is used.
	places func(platform.Hardware) []string
	header map[string]string
	token  *token
	// user are the documents that may have the configuration, the first that exists is used.
	user []user
	// documents are the paths of the facts; more returns those that are named in others.
	documents []string
	more      func(documents) []string
	// parse returns what the documents say. Each may be missing.
	parse func(documents, *reader) Machine
	// lowPort is set when the configuration is sent only to ports below 1024.
	lowPort bool
	// report tells the cloud that the machine has started; most clouds need no report.
	report func(ctx context.Context, fetch Fetch) error
}

// user is a document with the configuration. Its path is below the place of the documents, or a URL.
type user struct {
	path   string
	decode func(documents, []byte) ([]byte, error)
	// beside are documents that decode needs.
	beside []string
}

// token is the service for the tokens that requests need.
type token struct{ path, ttlHeader, ttl, header string }

// documents are the documents that exist, by their paths.
type documents map[string][]byte

// text returns a document without white space around it.
func (d documents) text(path string) string { return string(bytes.TrimSpace(d[path])) }

func at(urls ...string) func(platform.Hardware) []string {
	return func(platform.Hardware) []string { return urls }
}

// Names returns the names of all clouds.
func Names() []string { return slices.Sorted(maps.Keys(clouds)) }

// Find returns a cloud by its name.
func Find(name string, hw platform.Hardware) (*Cloud, bool) {
	c, ok := clouds[name]
	if !ok {
		return nil, false
	}

	c.name = name

	return &Cloud{cloud: &c, bases: c.places(hw)}, true
}

// Name returns the name of the cloud.
func (c *Cloud) Name() string { return c.name }

// Configuration returns the machine configuration, or nil if the cloud has none for the machine.
func (c *Cloud) Configuration(ctx context.Context, fetch Fetch) ([]byte, error) {
	var errs []error

	for _, base := range c.bases {
		text, err := c.userData(ctx, fetch, base)
		if err == nil && (text != nil || c.answers(ctx, fetch, base)) {
			return text, nil
		}

		errs = append(errs, err)
	}

	return nil, wrap(c.name, "read the configuration", errors.Join(errs...))
}

// answers reports whether a place that has no configuration is that of the cloud: the places after it are not asked, which may not
// exist. A server is; a volume is if it has a document.
func (c *Cloud) answers(ctx context.Context, fetch Fetch, base string) bool {
	if !strings.HasPrefix(base, volumes) {
		return true
	}

	docs, err := c.facts(ctx, fetch, base)

	return err == nil && len(docs) > 0
}

func (c *Cloud) userData(ctx context.Context, fetch Fetch, base string) ([]byte, error) {
	header, err := c.headers(ctx, fetch, base)
	if err != nil {
		return nil, err
	}

	for _, u := range c.user {
		docs := documents{}

		for _, path := range append([]string{u.path}, u.beside...) {
			text, err := fetch(ctx, Request{URL: under(base, path), Header: header, LowPort: c.lowPort})
			if errors.Is(err, ErrNotFound) {
				continue
			}

			if err != nil {
				return nil, fmt.Errorf("%s: %w", under(base, path), err)
			}

			docs[path] = text
		}

		text := docs[u.path]
		if u.decode != nil && len(text) > 0 {
			if text, err = u.decode(docs, text); err != nil {
				return nil, fmt.Errorf("%s: %w", under(base, u.path), err)
			}
		}

		if len(bytes.TrimSpace(text)) > 0 && !foreign(text) {
			return text, nil
		}
	}

	return nil, nil
}

// under returns the URL of a document whose path is below a place, or is a URL itself.
func under(base, path string) string {
	if strings.Contains(path, "://") {
		return path
	}

	return base + path
}

// foreign reports whether user data is for cloud-init, which many clouds set by themselves.
func foreign(text []byte) bool {
	return bytes.HasPrefix(text, []byte("#cloud-config")) || bytes.HasPrefix(text, []byte("#!"))
}

// Machine returns what the cloud says about the machine.
func (c *Cloud) Machine(ctx context.Context, fetch Fetch) (Machine, error) {
	var errs []error

	for _, base := range c.bases {
		docs, err := c.facts(ctx, fetch, base)
		if err == nil && len(docs) > 0 {
			return c.read(docs), nil
		}

		errs = append(errs, err)
	}

	if err := errors.Join(errs...); err != nil {
		return Machine{}, wrap(c.name, "read the metadata", err)
	}

	return Machine{}, nil
}

// read parses documents.
func (c *Cloud) read(docs documents) Machine {
	r := &reader{}
	m := c.parse(docs, r)
	m.Ignored = r.ignored

	return m
}

func (c *Cloud) facts(ctx context.Context, fetch Fetch, base string) (documents, error) {
	header, err := c.headers(ctx, fetch, base)
	if err != nil {
		return nil, err
	}

	docs := documents{}
	get := func(paths []string) error {
		for _, path := range paths {
			text, err := fetch(ctx, Request{URL: base + path, Header: header})

			switch {
			case err == nil:
				docs[path] = text
			case !errors.Is(err, ErrNotFound):
				return fmt.Errorf("%s: %w", base+path, err)
			}
		}

		return nil
	}

	if err := get(c.documents); err != nil {
		return nil, err
	}

	if c.more != nil {
		if err := get(c.more(docs)); err != nil {
			return nil, err
		}
	}

	return docs, nil
}

// headers returns the headers of requests, with a new token if the cloud issues some.
func (c *Cloud) headers(ctx context.Context, fetch Fetch, base string) (map[string]string, error) {
	if c.token == nil {
		return c.header, nil
	}

	text, err := fetch(ctx, Request{Method: "PUT", URL: base + c.token.path, Header: map[string]string{c.token.ttlHeader: c.token.ttl}})
	if errors.Is(err, ErrNotFound) { // an older server without tokens
		return c.header, nil
	}

	if err != nil {
		return nil, fmt.Errorf("%s: %w", base+c.token.path, err)
	}

	header := maps.Clone(c.header)
	if header == nil {
		header = map[string]string{}
	}

	header[c.token.header] = string(bytes.TrimSpace(text))

	return header, nil
}

// Report tells the cloud that the machine has started, if the cloud waits for that.
func (c *Cloud) Report(ctx context.Context, fetch Fetch) error {
	if c.report == nil {
		return nil
	}

	return wrap(c.name, "report that the machine has started", c.report(ctx, fetch))
}

func wrap(name, operation string, err error) error {
	if err == nil {
		return nil
	}

	return fmt.Errorf("platform %s: %s: %w", name, operation, err)
}
