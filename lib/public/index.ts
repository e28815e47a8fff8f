/**
 * `headgate`: the complete gateway, its inputs and its results.
 *
 * The files of this folder are the public API, which is documented and stable. Everything else in the package
 * may change in any release.
 */

export { createGateway } from '../gateway.ts'
export { createLog } from '../log/log.ts'
export { openDatabase } from '../stores/open-database.ts'
export { openKeyStore } from '../keys/key-store.ts'
export { GatewayError, ValidationError } from '../core/errors.ts'
export { Secret } from '../core/secret.ts'
export { version } from '../text/version.ts'
export type { CallObserver, Gateway, GatewayOptions } from '../gateway.ts'
export type { Address } from '../http/listen.ts'
export type { Call } from '../core/call.ts'
export type { CallRecord } from '../core/record.ts'
export type { Endpoint } from '../core/endpoint.ts'
export type { ErrorCode, GatewayErrorOptions } from '../core/errors.ts'
export type { ApiKey, PartyLimits } from '../core/key.ts'
export type { Reply } from '../core/reply.ts'
export type { Settings } from '../core/settings.ts'
export type { Keys } from '../keys/keys.ts'
export type { KeyStore } from '../keys/key-store.ts'
export type { Limiter } from '../limits/limiter.ts'
export type { Services } from '../services.ts'
export type { Database } from '../stores/database.ts'
export type { UsageRow } from '../stores/tables.ts'
export type { Log } from '../log/log.ts'
