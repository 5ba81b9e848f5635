module github.com/seed-59268b81/talos

go 1.26
