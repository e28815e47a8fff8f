import type { ServerSettings } from '../core/settings.ts'
import { CommandError } from './terminal.ts'

/** @throws CommandError for a certificate or a key that cannot be used */
export async function checkTlsFiles ({ tls }: Pick<ServerSettings, 'tls'>): Promise<void> {
  if (tls === undefined) return
  const { readTlsFiles } = await import('../http/tls-files.ts')
  try {
    readTlsFiles(tls)
  } catch (cause) {
    throw new CommandError(
      `cannot serve HTTPS with server.tls: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause }
    )
  }
}
