/**
 * Follows the references to secrets: `env:NAME` to a variable, `file:PATH` to a file.
 *
 * Works on the entries as written, before their shape is known to be right, so that a missing
 * variable is reported together with everything else.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { secretReference } from '../../schemas/config.ts'
import { Secret } from '../call.ts'
import { errorCode } from './environment.ts'
import { isMap, type Path } from './path.ts'
import type { Report } from './report.ts'

/** Where secrets stand; `*` is any name or index. */
const places = [
  ['providers', '*', 'api_key'],
  ['providers', '*', 'headers', '*'],
  ['mcp_servers', '*', 'headers', '*'],
  ['mcp_servers', '*', 'env', '*'],
  ['keys', '*', 'key']
]

export interface SecretSources {
  readonly environment: ReadonlyMap<string, string>
  /** What relative paths are relative to: the directory of the configuration file. */
  readonly directory: string
}

/**
 * Reads every secret the configuration refers to.
 *
 * A reference that leads nowhere is reported with its entry, unless the entry is switched off.
 * What is not a reference at all is left to the schema to refuse.
 *
 * @returns the secrets by reference; each is read once
 */
export function readSecrets (
  value: Record<string, unknown>, sources: SecretSources, report: Report
): ReadonlyMap<string, Secret> {
  const secrets = new Map<string, Secret>()
  for (const { path, reference } of places.flatMap(place => references(value, place))) {
    const secret = secrets.get(reference) ?? read(reference, sources)
    if (secret instanceof Secret) secrets.set(reference, secret)
    else report.add(path, secret)
  }
  return secrets
}

const isReference = new RegExp(secretReference)

interface Reference { readonly path: Path, readonly reference: string }

function references (value: unknown, place: readonly string[], path: Path = []): Reference[] {
  const [step, ...rest] = place
  if (step === undefined) {
    return typeof value === 'string' && isReference.test(value) ? [{ path, reference: value }] : []
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => references(item, rest, [...path, index]))
  }
  if (!isMap(value) || value.enabled === false) return []
  const names = step === '*' ? Object.keys(value) : [step]
  return names.flatMap(name => references(value[name], rest, [...path, name]))
}

/** The secret, or what is wrong with it. */
function read (reference: string, { environment, directory }: SecretSources): Secret | string {
  const target = reference.slice(reference.indexOf(':') + 1)
  if (reference.startsWith('env:')) {
    // What does not look like a variable may be the secret itself, put behind `env:` by mistake.
    const source = /^[A-Z0-9_]+$/.test(target) ? `the variable ${target}` : 'the variable named here'
    const value = environment.get(target)
    return value === undefined ? `${source} is not set` : checked(value, source)
  }
  try {
    return checked(readFileSync(resolve(directory, target), 'utf8').trim(), `the file ${target}`)
  } catch (error) {
    return `the file ${target} cannot be read (${errorCode(error)})`
  }
}

function checked (text: string, source: string): Secret | string {
  if (text === '') return `${source} is empty`
  // A line break would end the header the secret is sent in.
  if (/[\r\n\0]/.test(text)) return `${source} holds more than one line`
  return new Secret(text)
}
