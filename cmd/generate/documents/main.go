// SPDX-License-Identifier: Apache-2.0

// Command documents writes the texts of documents, their reference and their JSON schema; see package reference. It runs itself a
// second time, because the texts are a part of the program that writes the others.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-59268b81/talos/config/reference"
	"github.com/seed-59268b81/talos/config/reference/source"
)

// It is run in config/reference.
func main() {
	if err := run(len(os.Args) > 1); err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		os.Exit(1)
	}
}

func run(second bool) error {
	if !second {
		texts, err := source.Comments("..")
		if err != nil {
			return err
		}

		if err := os.WriteFile(reference.CommentsFile, texts, 0o644); err != nil {
			return err
		}

		again := exec.Command("go", "run", "../../cmd/generate/documents", "second")
		again.Stdout, again.Stderr = os.Stdout, os.Stderr

		return again.Run()
	}

	schema, err := reference.Schema()
	if err != nil {
		return err
	}

	docs := filepath.Join("..", "..", "docs")
	if err := os.WriteFile(filepath.Join(docs, "configuration.schema.json"), schema, 0o644); err != nil {
		return err
	}

	return os.WriteFile(filepath.Join(docs, "configuration.md"), reference.Page(), 0o644)
}
