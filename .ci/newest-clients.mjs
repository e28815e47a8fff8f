/**
 * Gives tests the clients that `.ci/programs.mjs` has installed in the place of those in `node_modules`. Other packages,
 * and what those clients import themselves, are found as usual.
 */

import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const clients = /^(openai|ai|@openai\/agents|@ai-sdk\/\w+|@anthropic-ai\/sdk)($|\/)/
const folder = process.env.HEADGATE_TEST_PROGRAMS
const parentURL = pathToFileURL(join(folder ?? '', 'package.json')).href

registerHooks({
  resolve (specifier, context, next) {
    const ours = context.parentURL?.includes('/build/test/') === true
    return next(specifier, ours && clients.test(specifier) ? { ...context, parentURL } : context)
  }
})
