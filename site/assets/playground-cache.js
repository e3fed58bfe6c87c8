/* A service worker that caches the playground's Python code (23 MB). Each build has its own cache; older caches are deleted. */
const NAME = "playground-BUILD";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const each of await caches.keys()) { if (each.startsWith("playground-") && each !== NAME) { await caches.delete(each); } }
  await self.clients.claim();
})()));
self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !new URL(event.request.url).pathname.includes("/playground/")) { return; }
  event.respondWith((async () => {
    const cache = await caches.open(NAME), kept = await cache.match(event.request);
    if (kept) { return kept; }
    const response = await fetch(event.request);
    if (response.ok) { await cache.put(event.request, response.clone()); }
    return response;
  })());
});
