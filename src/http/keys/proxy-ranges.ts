/*
 * From where the proxies of a platform reach an application. The option `proxies` of `byIp` replaces a list, for the day on
 * which a platform changes its ranges, and for a network of your own.
 */

/**
 * Private and local addresses: loopback, RFC 1918, link-local, the shared space of RFC 6598 (Railway's proxies have such
 * addresses), and IPv6 alike. Who holds one is inside the network of the application.
 */
export const privateRanges: readonly string[] = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '100.64.0.0/10',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
]

/** What Cloudflare publishes at https://www.cloudflare.com/ips/, as of 2023-09-28. The list changes every few years. */
export const cloudflareRanges: readonly string[] = [
  '173.245.48.0/20',
  '103.21.244.0/22',
  '103.22.200.0/22',
  '103.31.4.0/22',
  '141.101.64.0/18',
  '108.162.192.0/18',
  '190.93.240.0/20',
  '188.114.96.0/20',
  '197.234.240.0/22',
  '198.41.128.0/17',
  '162.158.0.0/15',
  '104.16.0.0/13',
  '104.24.0.0/14',
  '172.64.0.0/13',
  '131.0.72.0/22',
  '2400:cb00::/32',
  '2606:4700::/32',
  '2803:f800::/32',
  '2405:b500::/32',
  '2405:8100::/32',
  '2a06:98c0::/29',
  '2c0f:f248::/32',
]

/**
 * Google's front ends (https://cloud.google.com/load-balancing/docs/firewall-rules), and the private addresses of regional
 * load balancers, which are proxies in a subnet of the application's own network.
 */
export const googleRanges: readonly string[] = [
  '35.191.0.0/16',
  '130.211.0.0/22',
  '2600:2d00:1:1::/64',
  '2600:2d00:1:b029::/64',
  ...privateRanges,
]
