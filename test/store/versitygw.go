//go:build versitygw

package main

import (
	"os"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

// serve serves a folder at an address.
func serve(address, folder string) error {
	access, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	objects, notes := folder+"/objects", folder+"/notes"
	for _, path := range []string{objects, notes} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	sidecar, err := meta.NewSideCar(notes)
	if err != nil {
		return err
	}
	backend, err := posix.New(objects, sidecar, posix.PosixOpts{NewDirPerm: 0o755, Concurrency: 100,
		SideCarDir: notes})
	if err != nil {
		return err
	}
	server, err := s3api.New(backend, middlewares.RootUserConfig{Access: access, Secret: secret}, "us-east-1",
		auth.NewIAMServiceSingle(auth.Account{Access: access, Secret: secret, Role: auth.RoleAdmin}),
		nil, nil, nil, nil, s3api.WithQuiet(), s3api.WithConcurrencyLimiter(1000, 1000),
		s3api.WithMpMaxParts(10_000))
	if err != nil {
		return err
	}
	return server.ServeMultiPort([]string{address})
}
