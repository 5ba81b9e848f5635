// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logind

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// maxLine of the authentication in bytes; bufio's buffer.
const maxLine = 4096

// writeTime is how long a client may take to read what it is sent.
const writeTime = 5 * time.Second

// peer is one client.
type peer struct {
	bus  *Bus
	conn *net.UnixConn
	name string

	mu     sync.Mutex // of what is below, and of writing
	serial uint32
	rules  []rule
}

func (p *peer) serve() error {
	defer p.conn.Close()

	if err := p.mayEnter(); err != nil {
		return err
	}

	in := bufio.NewReaderSize(p.conn, maxLine)

	if err := p.authenticate(in); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}

	b := p.bus

	b.mu.Lock()
	b.named++
	p.name = fmt.Sprintf(":1.%d", b.named)
	b.peers[p] = true
	b.mu.Unlock()

	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		delete(b.peers, p)
	}()

	for {
		msg, err := readMessage(in)
		if err != nil {
			return err
		}

		if msg.kind != dbus.TypeMethodCall {
			continue // nobody here waits for anything
		}

		if err := p.answer(msg); err != nil {
			return err
		}
	}
}

// mayEnter refuses other users, also one that was given the socket.
func (p *peer) mayEnter() error {
	raw, err := p.conn.SyscallConn()
	if err != nil {
		return err
	}

	var (
		cred    *unix.Ucred
		credErr error
	)

	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}

	if credErr != nil {
		return fmt.Errorf("who is it: %w", credErr)
	}

	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("user %d has no business here", cred.Uid)
	}

	return nil
}

// authenticate is the server's side of the handshake. Who the client is has been told by the kernel
// (https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol).
func (p *peer) authenticate(in *bufio.Reader) error {
	if b, err := in.ReadByte(); err != nil || b != 0 {
		return errors.Join(errors.New("a connection begins with a zero byte"), err)
	}

	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}

		answer := ""

		switch words := strings.Fields(string(line)); {
		case len(words) == 0:
			answer = "ERROR"
		case words[0] == "AUTH" && len(words) > 1 && words[1] == "EXTERNAL":
			answer = "OK " + hex.EncodeToString([]byte("talos-system-bus"))
		case words[0] == "AUTH", words[0] == "CANCEL", words[0] == "ERROR":
			answer = "REJECTED EXTERNAL"
		case words[0] == "DATA":
			answer = "OK " + hex.EncodeToString([]byte("talos-system-bus"))
		case words[0] == "NEGOTIATE_UNIX_FD":
			answer = "AGREE_UNIX_FD"
		case words[0] == "BEGIN":
			return nil
		default:
			answer = "ERROR"
		}

		if _, err := p.conn.Write([]byte(answer + "\r\n")); err != nil {
			return err
		}
	}
}

// send writes a message. Files are duplicated to the client.
func (p *peer) send(msg *dbus.Message, files ...*os.File) error {
	if len(msg.Body) > 0 {
		msg.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(msg.Body...))
	}

	if len(files) > 0 {
		msg.Headers[dbus.FieldUnixFDs] = dbus.MakeVariant(uint32(len(files)))
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	var out bytes.Buffer

	fds, err := msg.EncodeToWithFDs(&out, binary.LittleEndian)
	if err != nil {
		return err
	}

	// The encoder has no way to be told the serial number, which is at the same place in every message.
	p.serial++
	binary.LittleEndian.PutUint32(out.Bytes()[8:], p.serial)

	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}

	// A client that does not read does not hold up the others.
	if err := p.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}

	_, _, err = p.conn.WriteMsgUnix(out.Bytes(), rights, nil)

	return err
}

// signal sends a signal if the client has asked for such.
func (p *peer) signal(iface, member string, path dbus.ObjectPath, body ...any) error {
	p.mu.Lock()
	wanted := slices.ContainsFunc(p.rules, func(r rule) bool { return r.matches(iface, member, path) })
	p.mu.Unlock()

	if !wanted {
		return nil
	}

	return p.send(&dbus.Message{
		Type: dbus.TypeSignal, Flags: dbus.FlagNoReplyExpected,
		Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldInterface: dbus.MakeVariant(iface),
			dbus.FieldMember:    dbus.MakeVariant(member),
			dbus.FieldPath:      dbus.MakeVariant(path),
			dbus.FieldSender:    dbus.MakeVariant(managerName),
		},
		Body: body,
	})
}
