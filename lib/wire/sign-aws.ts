/**
 * Signs requests to AWS, with Signature Version 4.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html @see
 *   https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */

import { createHmac, hash } from 'node:crypto'
import type { Secret } from '../core/secret.ts'

export interface AwsRequest {
  readonly method: string
  /** With the port, unless it is the default port. */
  readonly host: string
  /** Encoded with `encodePath`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** All are signed. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** SHA-256 of the body, in hexadecimal. */
  readonly bodyDigest: string
}

export interface AwsKey {
  readonly accessKey: Secret
  readonly secretKey: Secret
  readonly region: string
  /** The name under which a service signs, such as `bedrock`. Default: `s3`. */
  readonly service?: string
}

const algorithm = 'AWS4-HMAC-SHA256'

/** Returns the headers to send, including the given ones. */
export function signAws (
  { method, host, path, query = {}, headers = {}, bodyDigest }: AwsRequest,
  { accessKey, secretKey, region, service = 's3' }: AwsKey,
  atMs: number
): Readonly<Record<string, string>> {
  const at = new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const day = at.slice(0, 8)
  const sent = { ...headers, 'x-amz-content-sha256': bodyDigest, 'x-amz-date': at }
  const signed = Object.entries({ ...sent, host }).toSorted(byName)
  const names = signed.map(([name]) => name).join(';')
  const canonical = [
    method,
    service === 's3' ? path : encodePath(path), // all other services sign the path encoded twice
    printQuery(query),
    ...signed.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    bodyDigest
  ].join('\n')
  const scope = [day, region, service, 'aws4_request']
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretKey.reveal()}`)
  const text = [algorithm, at, scope.join('/'), hash('sha256', canonical)].join('\n')
  const signature = hmac(key, text).toString('hex')
  const credential = `${accessKey.reveal()}/${scope.join('/')}`
  return {
    ...sent,
    authorization: `${algorithm} Credential=${credential},SignedHeaders=${names},Signature=${signature}`
  }
}

/** Encodes the path of an object; slashes stay. */
export function encodePath (path: string): string {
  return path.split('/').map(encode).join('/')
}

/** Returns a query in signing order: sorted by encoded name. */
export function printQuery (query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .toSorted(byName)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** Compares by code unit: a locale would order some names differently. */
function byName ([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1
}

function hmac (key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Encodes everything that RFC 3986 reserves, which `encodeURIComponent` does not. */
function encode (text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, letter => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
}
