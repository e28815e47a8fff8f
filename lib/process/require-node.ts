/** Lowest version that runs Headgate: `engines` of package.json, which Node does not enforce. */
export const minNodeVersion = '20.20.0'

/**
 * Exits with a sentence when this Node is too old, before anything is imported that an old one cannot
 * even parse.
 */
export function requireNode (version: string = process.versions.node): void {
  if (version.localeCompare(minNodeVersion, 'en', { numeric: true }) >= 0) return
  process.stderr.write(`headgate: Node.js ${minNodeVersion} or newer is required; this is ${version}.\n`)
  process.exit(1)
}
