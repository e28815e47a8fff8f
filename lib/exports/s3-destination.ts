/**
 * Puts files into a bucket: in one request, or in parts if they are long. An object becomes visible once it
 * is complete.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html @see
 *   https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
 */

import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { httpTransport, type HttpTransport } from '../client/transport.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { encodePath, printQuery, signAws } from '../wire/sign-aws.ts'
import type { Settings, Timeouts } from '../core/settings.ts'
import type { UpstreamRequest } from '../providers/provider.ts'
import type { Destination } from './destination.ts'

type S3Settings = NonNullable<Settings['usage']['exports'][string]['s3']>

interface BucketRequest {
  readonly method: UpstreamRequest['method']
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Piece | string
  readonly headers?: Readonly<Record<string, string>>
}

interface Piece {
  readonly file: string
  /** The first byte. */
  readonly from: number
  readonly bytes: number
}

interface BucketAnswer {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
}

export interface S3Options {
  /** The folder in which files are written before they are sent. */
  readonly workFolder: string
  /** Maximum duration of a request, in milliseconds. */
  readonly requestMs: number
  /** Longer files are sent in parts of this size, at least 5 MiB. Default: 64 MiB. */
  readonly partBytes?: number
}

const connectMs = 10_000
/** Maximum size of an answer. */
const maxAnswerBytes = 64 * 1024

/**
 * Puts files into a bucket.
 *
 * @throws TypeError for an endpoint that is not a URL
 */
export function s3Destination (settings: S3Settings, options: S3Options): Destination {
  return new S3Destination(settings, options)
}

class S3Destination implements Destination {
  readonly location: string
  readonly workFolder: string
  readonly #settings: S3Settings
  readonly #host: string
  /** The path of the bucket. */
  readonly #root: string
  readonly #partBytes: number
  readonly #timeouts: Timeouts
  readonly #transport: HttpTransport

  constructor (settings: S3Settings, { workFolder, requestMs, partBytes = 64 * 1024 * 1024 }: S3Options) {
    const { endpoint, bucket, region, prefix } = settings
    const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`)
    this.workFolder = workFolder
    this.#settings = settings
    this.#host = base.host
    this.#root = `${withoutTrailingSlashes(base.pathname)}/${bucket}`
    this.location = `${base.origin}${this.#root}/${prefix}`
    this.#partBytes = partBytes
    this.#timeouts = {
      connectMs,
      firstByteMs: requestMs,
      responseMs: requestMs,
      idleBytesMs: requestMs,
      idleEventsMs: requestMs
    }
    this.#transport = httpTransport({ baseUrl: base.origin, connections: 8, connectMs })
  }

  async publish (file: string, name: string, signal: AbortSignal): Promise<void> {
    const { size: bytes } = await stat(file)
    const key = `/${this.#settings.prefix}${name}`
    if (bytes > this.#partBytes) return await this.#sendParts(file, bytes, key, signal)
    await this.#send(key, { method: 'PUT', body: { file, from: 0, bytes }, headers: typeOf(key) }, signal)
  }

  async check (signal: AbortSignal): Promise<void> {
    const query = { 'list-type': '2', 'max-keys': '1', prefix: this.#settings.prefix }
    try {
      await this.#send('', { method: 'GET', query }, signal)
    } catch (error) {
      // A key may be allowed to put files and not to list them.
      if (!(error instanceof S3Refusal && error.code === 'AccessDenied')) throw error
    }
  }

  async close (): Promise<void> {
    await this.#transport.close()
  }

  async #send (
    key: string,
    { method, query = {}, body = '', headers = {} }: BucketRequest,
    signal: AbortSignal
  ): Promise<BucketAnswer> {
    const path = encodePath(this.#root + key)
    const signed = signAws(
      { method, host: this.#host, path, query, headers, bodyDigest: await digestOf(body, signal) },
      this.#settings,
      Date.now()
    )
    const search = printQuery(query)
    const answer = await this.#transport.send(
      {
        method,
        path: search === '' ? path : `${path}?${search}`,
        headers: { ...signed, 'content-length': String(lengthOf(body)) },
        body: typeof body === 'string' ? body : () => readPiece(body)
      },
      { signal, credential: {}, timeouts: this.#timeouts, streamed: false }
    )
    const text = (await answer.body.buffer(maxAnswerBytes)).toString()
    if (answer.status !== 200 && answer.status !== 204) throw new S3Refusal(answer.status, text)
    return { headers: answer.headers, text }
  }

  async #sendParts (file: string, bytes: number, key: string, signal: AbortSignal): Promise<void> {
    const begun = await this.#send(
      key, { method: 'POST', query: { uploads: '' }, headers: typeOf(key) }, signal
    )
    const uploadId = elementOf(begun.text, 'uploadId')
    if (uploadId === undefined) throw new Error('the bucket sent no id of an upload')
    try {
      const parts: string[] = []
      for (let from = 0; from < bytes; from += this.#partBytes) {
        const partNumber = parts.length + 1
        const { headers } = await this.#send(key, {
          method: 'PUT',
          query: { partNumber: String(partNumber), uploadId },
          body: { file, from, bytes: Math.min(this.#partBytes, bytes - from) }
        }, signal)
        const { etag } = headers
        if (typeof etag !== 'string') throw new Error('the bucket sent no ETag for a part')
        parts.push(`<Part><PartNumber>${partNumber}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`)
      }
      const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
      const { text } = await this.#send(key, { method: 'POST', query: { uploadId }, body }, signal)
      // It may fail after its status was sent.
      if (elementOf(text, 'etag') === undefined) throw new S3Refusal(200, text)
    } catch (error) {
      await this.#abandon(key, uploadId, error)
      throw error
    }
  }

  /** Has the bucket delete the parts that it got. */
  async #abandon (key: string, uploadId: string, cause: unknown): Promise<void> {
    try {
      await this.#send(key, { method: 'DELETE', query: { uploadId } }, AbortSignal.timeout(connectMs))
    } catch {
      throw new Error('a part failed to upload, and the incomplete upload could not be deleted', { cause })
    }
  }
}

const types = [['.csv', 'text/csv'], ['.jsonl', 'application/jsonl'], ['.gz', 'application/gzip']] as const

function typeOf (name: string): Readonly<Record<string, string>> {
  const [, type = 'application/octet-stream'] = types.find(([end]) => name.endsWith(end)) ?? []
  return { 'content-type': type }
}

function lengthOf (body: Piece | string): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.bytes
}

async function digestOf (body: Piece | string, signal: AbortSignal): Promise<string> {
  if (typeof body === 'string') return hash('sha256', body)
  const digest = createHash('sha256')
  for await (const bytes of readPiece(body)) {
    signal.throwIfAborted()
    digest.update(bytes)
  }
  return digest.digest('hex')
}

async function * readPiece ({ file, from, bytes }: Piece): AsyncGenerator<Buffer> {
  if (bytes === 0) return
  // a file that was opened without an encoding is read as buffers
  yield * createReadStream(file, { start: from, end: from + bytes - 1 }) as AsyncIterable<Buffer>
}

/** An error from the bucket. Keeps only the error code, because the message may quote the request. */
class S3Refusal extends Error {
  readonly code: string | undefined

  constructor (status: number, text: string) {
    const code = elementOf(text, 'code')?.slice(0, 64)
    super(`the bucket answered with status ${status}${code === undefined ? '' : ` (${code})`}`)
    this.code = code
  }
}

const elements = {
  code: /<Code>([^<]+)<\/Code>/,
  etag: /<ETag>([^<]+)<\/ETag>/,
  uploadId: /<UploadId>([^<]+)<\/UploadId>/
} as const

/** Returns the text of the first such element: answers of S3 are short and flat. */
function elementOf (xml: string, element: keyof typeof elements): string | undefined {
  const text = elements[element].exec(xml)?.[1]
  return text?.replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

function escaped (text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
