import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'

/** Returns the address of a one-time link; browsers do not send what follows the `#`. */
export function dashboardLink (url: string, token: string): string {
  return `${withoutTrailingSlashes(url)}/dashboard/#/link/${token}`
}
