/**
 * Loads the certificate and the key of HTTPS from files that another program renews: a new pair is used from
 * the next connection on.
 */

import { unwatchFile, watchFile } from 'node:fs'
import type { Server } from 'node:https'
import { errorCode } from '../config/environment.ts'
import { readRegularFile } from '../net/read-regular-file.ts'
import { tlsProblem } from '../net/tls-problem.ts'

export interface TlsPaths {
  readonly certificate: string
  readonly key: string
}

export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
}

export interface TlsWatchOptions {
  readonly onReload: () => void
  /** Called with the reason why the new files cannot be used; the previous pair stays in use. */
  readonly onFailure: (error: unknown) => void
  readonly everyMs?: number
}

/** @throws Error that says which file cannot be used, and why */
export function readTlsFiles ({ certificate, key }: TlsPaths): TlsPair {
  const pair = { cert: read('certificate', certificate), key: read('key', key) }
  const problem = tlsProblem(pair)
  if (problem === undefined) return pair
  const at = problem.part === 'key' ? `the key ${key}` : `the certificate ${certificate}`
  throw new Error(`${at} ${problem.message}`)
}

function read (name: keyof TlsPaths, path: string): Buffer {
  try {
    return readRegularFile(path)
  } catch (cause) {
    throw new Error(`the ${name} ${path} cannot be read (${errorCode(cause)})`, { cause })
  }
}

/**
 * Gives a server the new pair when one of the files has changed. Files are polled by path instead of watching
 * their directory: mounted secrets are links whose targets are swapped elsewhere.
 *
 * @returns a function that stops it
 */
export function followTlsFiles (
  server: Server,
  paths: TlsPaths,
  { onReload, onFailure, everyMs = 2000 }: TlsWatchOptions
): () => void {
  const reload = (): void => {
    try {
      server.setSecureContext(readTlsFiles(paths))
      onReload()
    } catch (error) {
      onFailure(error)
    }
  }
  const watched = [paths.certificate, paths.key]
  for (const path of watched) watchFile(path, { interval: everyMs, persistent: false }, reload)
  return () => { for (const path of watched) unwatchFile(path, reload) }
}
