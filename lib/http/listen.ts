/** Opens the port, and says at which address. */

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Address {
  readonly host: string
  readonly port: number
  /** True for HTTPS. */
  readonly secure?: boolean
}

/** Starts listening, and resolves with where that is: port 0 takes any free one. */
export async function listen (server: Server, { host, port, secure = false }: Address): Promise<Address> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address() as AddressInfo // it listens on TCP
  return { host, port: address.port, ...secure && { secure } }
}

export function isEverywhere ({ host }: Address): boolean {
  return host === '0.0.0.0' || host === '::'
}

/**
 * Returns the URL for people and programs of this machine: an address that accepts connections from
 * everywhere is not one to connect to.
 */
export function urlOf (address: Address): string {
  const { host, port, secure = false } = address
  const reachable = isEverywhere(address) ? 'localhost' : host
  return `${secure ? 'https' : 'http'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
