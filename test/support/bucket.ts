/**
 * A bucket for tests: an HTTP server that keeps objects in memory, checks signatures independently, accepts
 * multipart uploads, and fails by script.
 */

import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Secret } from '../../lib/core/secret.ts'
import { httpServer } from './http-server.ts'
import type { Test } from 'tap'

export const bucketKey = { accessKey: new Secret('AKEXAMPLE'), secretKey: new Secret('secret/of+the+bucket') }

export interface SeenObjectRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly bytes: number
}

export interface Bucket {
  readonly url: string
  /** The settings of a target in it. */
  readonly s3: {
    readonly endpoint: string
    readonly bucket: string
    readonly region: string
    readonly prefix: string
    readonly accessKey: Secret
    readonly secretKey: Secret
  }
  readonly objects: Map<string, Buffer>
  /** Uploads that are neither complete nor abandoned. */
  readonly uploads: Map<string, Map<number, Buffer>>
  readonly requests: SeenObjectRequest[]
}

/**
 * @param fail the status and code to answer a request with; `undefined` for normal behaviour, `stall` for no
 *   answer at all
 */
export async function openBucket (
  t: Test,
  fail: (
    request: SeenObjectRequest,
    number: number
  ) => readonly [status: number, code: string] | 'stall' | undefined = () => undefined
): Promise<Bucket> {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, Map<number, Buffer>>()
  const requests: SeenObjectRequest[] = []
  const { url } = await httpServer(t, (request, response) => {
    void (async () => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      const body = Buffer.concat(pieces)
      const { pathname: path, searchParams: query } = new URL(request.url ?? '', url)
      const seen = { method: request.method ?? '', path, query, headers: request.headers, bytes: body.length }
      const scripted = fail(seen, requests.push(seen) - 1)
      if (scripted === 'stall') return
      const [status, text, headers = {}] =
        scripted === undefined ? answer(request, seen, body) : [scripted[0], errorOf(scripted[1])]
      response.writeHead(status, { 'content-type': 'application/xml', ...headers }).end(text)
    })()
  })

  const answer = (
    request: IncomingMessage,
    { method, path, query }: SeenObjectRequest,
    body: Buffer
  ): readonly [number, string, Record<string, string>?] => {
    const refused = refusal(request, body)
    if (refused !== undefined) return [403, errorOf(refused)]
    const uploadId = query.get('uploadId')
    const parts = uploads.get(uploadId ?? '')
    if (method === 'POST' && query.has('uploads')) {
      const id = `upload/${uploads.size}+`
      uploads.set(id, new Map())
      return [
        200,
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`
      ]
    }
    if (uploadId !== null && parts === undefined) return [404, errorOf('NoSuchUpload')]
    if (parts !== undefined && method === 'PUT') {
      parts.set(Number(query.get('partNumber')), body)
      return [200, '', { etag: etagOf(body) }]
    }
    if (parts !== undefined && method === 'DELETE') {
      uploads.delete(uploadId ?? '')
      return [204, '']
    }
    if (parts !== undefined) {
      const listed = [
        ...body.toString().matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag><\/Part>/g)
      ]
      const found = listed.flatMap(([, number, etag]) => {
        const part = parts.get(Number(number))
        return part !== undefined && etagOf(part) === etag ? [part] : []
      })
      if (found.length !== parts.size) return [400, errorOf('InvalidPart')]
      objects.set(path, Buffer.concat(found))
      uploads.delete(uploadId ?? '')
      return [
        200,
        '<CompleteMultipartUploadResult><ETag>&quot;all&quot;</ETag></CompleteMultipartUploadResult>'
      ]
    }
    if (method === 'PUT') {
      objects.set(path, body)
      return [200, '', { etag: etagOf(body) }]
    }
    return [200, '<ListBucketResult></ListBucketResult>']
  }
  return {
    url,
    objects,
    uploads,
    requests,
    s3: { endpoint: url, bucket: 'records', region: 'eu-north-1', prefix: 'usage/year=2026/', ...bucketKey }
  }
}

function errorOf (code: string): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>of ${bucketKey.secretKey.reveal()}</Message></Error>`
}

function etagOf (bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`
}

/**
 * Returns why a bucket refuses a request:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
function refusal ({ method, url = '', headers }: IncomingMessage, body: Buffer): string | undefined {
  const found =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? ''
    )
  if (found === null) return 'AccessDenied'
  const [, id, day = '', region = '', names = '', signature] = found
  if (id !== bucketKey.accessKey.reveal()) return 'InvalidAccessKeyId'
  const date = String(headers['x-amz-date'])
  const sent = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(sent - Date.now()) < 15 * 60_000) || !date.startsWith(day)) return 'RequestTimeTooSkewed'
  if (!names.split(';').includes('host')) return 'AccessDenied'
  const digest = createHash('sha256').update(body).digest('hex')
  if (headers['x-amz-content-sha256'] !== digest) return 'XAmzContentSHA256Mismatch'
  const [path = '', search = ''] = url.split('?')
  const query = search === '' ? '' : search.split('&').toSorted().join('&')
  const canonical = `${method}\n${path}\n${query}\n${names
    .split(';')
    .map(name => `${name}:${String(headers[name])}\n`)
    .join('')}\n${names}\n${digest}`
  let key: Buffer | string = `AWS4${bucketKey.secretKey.reveal()}`
  for (const part of [day, region, 's3', 'aws4_request']) {
    key = createHmac('sha256', key).update(part).digest()
  }
  const text = `AWS4-HMAC-SHA256\n${date}\n${day}/${region}/s3/aws4_request\n${createHash('sha256').update(canonical).digest('hex')}`
  return createHmac('sha256', key).update(text).digest('hex') === signature
    ? undefined
    : 'SignatureDoesNotMatch'
}
