/** Creates clients of a single Redis, of the primary that Sentinels report, or of a cluster. */

import type { EventEmitter } from 'node:events'
import type { ConnectionOptions } from 'node:tls'
import type { Cluster, ClusterOptions, Redis, RedisOptions } from 'ioredis'
import type { Secret } from '../core/secret.ts'
import { readRegularFile } from '../net/read-regular-file.ts'
import type { RedisAddress } from './redis-address.ts'
import { scripts, type ScriptName } from './scripts.ts'

export interface RedisLocation {
  readonly address: RedisAddress
  /** The name of the primary, if the hosts are Sentinels. */
  readonly sentinel?: string | undefined
  readonly sentinelPassword?: Secret | undefined
  /** True if the hosts are nodes of a cluster. */
  readonly isCluster?: boolean | undefined
}

export interface ClientOptions {
  /** Maximum wait for a connection and for a reply. */
  readonly timeoutMs: number
  /** Milliseconds between two attempts to connect. */
  readonly retryMs: number
  /** True for a client that receives messages and waits for its connection. */
  readonly subscribes?: boolean
}

export type ScriptArgument = string | number
type Scripts = Readonly<Record<ScriptName, (...parameters: ScriptArgument[]) => Promise<unknown>>>

/** The commands that a single server and a cluster share. */
export interface RedisClient extends Scripts, Pick<EventEmitter, 'on'> {
  readonly status: string
  readonly connect: () => Promise<void>
  readonly disconnect: (reconnect?: boolean) => void
  readonly publish: (topic: string, message: string) => Promise<number>
  readonly subscribe: (...topics: string[]) => Promise<unknown>
  readonly get: (key: string) => Promise<string | null>
  readonly set: (key: string, text: string, unit: 'PX', ttlMs: number) => Promise<unknown>
  readonly zrem: (key: string, member: string) => Promise<number>
  readonly zrangebyscore: (
    key: string,
    min: number,
    max: string,
    withScores: 'WITHSCORES'
  ) => Promise<string[]>
}

/** Returns the servers that hold keys. */
export function nodesOf (client: RedisClient): ReadonlyArray<Pick<Redis, 'scanStream' | 'unlink'>> {
  // `createRedisClient` creates only these
  const redis = client as unknown as Redis | Cluster
  return 'nodes' in redis ? redis.nodes('master') : [redis]
}

/** @throws the error of the file system if the file of the authority cannot be read */
export async function createRedisClient (
  location: RedisLocation, options: ClientOptions
): Promise<RedisClient> {
  const { Redis, Cluster } = await import('ioredis')
  const { address: { hosts: [first, ...others] }, isCluster, sentinel } = location
  // The scripts become methods at run time, which the package's types do not show.
  if (isCluster === true) {
    return connectingNodes(
      new Cluster([first, ...others], clusterOptions(location, options)) as Cluster & Scripts
    )
  }
  const at = sentinel === undefined ? first : sentinelOptions(sentinel, location, options)
  return reportingOnce(new Redis({ ...serverOptions(location, options), ...at })) as Redis & Scripts
}

/**
 * Connects to each node of a cluster when it is found instead of with its first commands, all but one of
 * which would be refused.
 */
function connectingNodes<C extends Cluster> (cluster: C): C {
  cluster.on('+node', (node: Redis) => {
    reportingOnce(node).connect().catch((error: unknown) => cluster.emit('error', error))
  })
  return cluster
}

/**
 * Prevents a second error of a socket from ending the process: the package listens for the first one only,
 * and an interrupted TLS handshake, as with an untrusted server, may emit another.
 */
function reportingOnce (redis: Redis): Redis {
  return redis.on('connecting', () => {
    setImmediate(() => {
      const socket = redis.stream as Redis['stream'] | undefined // none after `disconnect`
      socket?.on('error', () => undefined) // the first one was reported
    })
  })
}

function serverOptions (location: RedisLocation, options: ClientOptions) {
  return {
    ...nodeOptions(location, options),
    db: location.address.database,
    scripts,
    retryStrategy: () => options.retryMs,
    // Calls do not wait for a connection, and nothing is sent twice.
    ...options.subscribes !== true && {
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0
    }
  } satisfies RedisOptions
}

function sentinelOptions (
  name: string,
  { address, sentinelPassword }: RedisLocation,
  { timeoutMs, retryMs }: ClientOptions
) {
  const tls = tlsOf(address)
  return {
    name,
    sentinels: [...address.hosts],
    // Not `failoverDetector`: with it, the last Sentinel to hear of a failover ends connections that are
    // already at the new primary. A connection that stays at the old one lacks its heartbeat, which is a
    // write, or the echo of it.
    failoverDetector: false,
    sentinelCommandTimeout: timeoutMs,
    sentinelRetryStrategy: () => retryMs,
    ...tls !== undefined && { sentinelTLS: tls, enableTLSForSentinelMode: true },
    ...sentinelPassword !== undefined && { sentinelPassword: sentinelPassword.reveal() }
  } satisfies RedisOptions
}

function clusterOptions (location: RedisLocation, options: ClientOptions) {
  return {
    redisOptions: nodeOptions(location, options),
    lazyConnect: true,
    scripts,
    clusterRetryStrategy: () => options.retryMs,
    enableOfflineQueue: options.subscribes === true,
    // Sent commands may have run: only a command that one node redirects to another is sent again.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshTimeout: options.timeoutMs,
    // Certificates are issued for names, not for addresses.
    ...location.address.isSecure && {
      dnsLookup: (host: string, found: (error: null, address: string) => void) => found(null, host)
    }
  } satisfies ClusterOptions
}

function nodeOptions ({ address }: RedisLocation, { timeoutMs, subscribes = false }: ClientOptions) {
  const { username, password } = address
  const tls = tlsOf(address)
  return {
    lazyConnect: true,
    connectionName: 'headgate',
    connectTimeout: timeoutMs,
    autoResubscribe: false, // `RedisMessages` subscribes with every connection
    ...!subscribes && { commandTimeout: timeoutMs },
    ...username !== undefined && { username },
    ...password !== undefined && { password },
    ...tls !== undefined && { tls }
  }
}

function tlsOf ({ isSecure, authorityFile }: RedisAddress): ConnectionOptions | undefined {
  if (!isSecure) return undefined
  return authorityFile === undefined ? {} : { ca: readRegularFile(authorityFile) }
}
