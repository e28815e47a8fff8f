/**
 * Loads the certificate and the key of HTTPS from files that another program renews: a new pair is used from
 * the next connection on.
 */

import { unwatchFile, watchFile } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Server } from 'node:https'
import { readRegularFile } from '../net/read-regular-file.ts'

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

/** @throws Error for files that cannot be read or do not belong together */
export function readTlsFiles ({ certificate, key }: TlsPaths): TlsPair {
  const pair = { cert: readRegularFile(certificate), key: readRegularFile(key) }
  createSecureContext(pair)
  return pair
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
