#!/usr/bin/env node
// A file that is there before the build, so that npm links the command at install time.
import "../dist/cli/main.js";
