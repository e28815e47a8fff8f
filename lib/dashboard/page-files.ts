/**
 * The files of the page, which the build makes of `page/`: read and compressed when they are first requested,
 * then kept.
 */

import { readFile, readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Reply } from '../core/reply.ts'

const compress = promisify(gzip)

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2'
}

/** Nothing inline and nothing from elsewhere. Images and sound that models make are `data:` and `blob:`. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'"
].join('; ')

const headers = { vary: 'accept-encoding', 'x-content-type-options': 'nosniff' }

const pageHeaders = {
  ...headers,
  'cache-control': 'no-cache',
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(self)',
  'referrer-policy': 'same-origin'
}

/** The names of assets hold a digest of their content. */
const assetHeaders = { ...headers, 'cache-control': 'public, max-age=31536000, immutable' }

interface PageFile {
  readonly headers: Readonly<Record<string, string>>
  readonly plain: Uint8Array
  readonly compressed: Uint8Array
}

export class PageFiles {
  readonly #directory: string
  readonly #files = new Map<string, Promise<PageFile>>()
  #assets: Promise<ReadonlySet<string>> | undefined

  /** @param directory default: where the build puts them */
  constructor (directory = join(import.meta.dirname, '../../dashboard')) {
    this.#directory = directory
  }

  /**
   * Returns the file of a path below `/dashboard/`: an asset, or the page itself for every other path, as its
   * own router reads that.
   *
   * @param acceptEncoding the header of the request
   * @returns `undefined` for an asset that there is not, and where the page was not built
   */
  async find (path: string, acceptEncoding = ''): Promise<Reply | undefined> {
    const name = path.startsWith('assets/') ? path.slice('assets/'.length) : undefined
    this.#assets ??= readdir(join(this.#directory, 'assets')).then(
      names => new Set(names),
      () => new Set<string>()
    )
    const assets = await this.#assets
    if (assets.size === 0 || (name !== undefined && !assets.has(name))) return undefined
    const file = await this.#read(name === undefined ? 'index.html' : `assets/${name}`)
    const compressed = /\bgzip\b/.test(acceptEncoding)
    return {
      status: 200,
      headers: { ...file.headers, ...compressed && { 'content-encoding': 'gzip' } },
      body: compressed ? file.compressed : file.plain
    }
  }

  #read (name: string): Promise<PageFile> {
    const present = this.#files.get(name)
    if (present !== undefined) return present
    const file = this.#load(name)
    this.#files.set(name, file)
    return file
  }

  async #load (name: string): Promise<PageFile> {
    const plain = await readFile(join(this.#directory, name))
    const own = name === 'index.html' ? pageHeaders : assetHeaders
    return {
      headers: { 'content-type': mediaTypes[extname(name)] ?? 'application/octet-stream', ...own },
      plain,
      compressed: await compress(plain, { level: 9 })
    }
  }
}
