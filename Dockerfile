# The sidecar as an image; docs/how-to/containers.md says how to run it. Another base, a mirror or a digest: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Without install scripts: none of them is needed, and the package `node` would bring a second Node.
RUN npm install --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build
# Of the development packages only these clients stay, which a configuration may ask for. All versions are those of the lock file.
ARG CLIENTS="pg @redis/client @opentelemetry/api @opentelemetry/sdk-node openid-client nodemailer"
RUN node -e "const { writeFileSync } = require('node:fs'); \
      const { devDependencies, ...manifest } = require('./package.json'); \
      for (const name of process.argv.slice(1)) manifest.dependencies[name] ??= devDependencies[name]; \
      writeFileSync('package.json', JSON.stringify(manifest))" ${CLIENTS} \
 && npm prune --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="sluice" \
      org.opencontainers.image.description="Composable middleware in front of LLM inference providers" \
      org.opencontainers.image.licenses="MIT"
# A container is reached from outside, and `HOST` counts only where the configuration has no server.host.
ENV NODE_ENV=production HOST=0.0.0.0
COPY --from=build /build/node_modules /app/node_modules
COPY package.json LICENSE /app/node_modules/sluice/
COPY bin /app/node_modules/sluice/bin
COPY --from=build /build/dist /app/node_modules/sluice/dist
# The command by its name, and the packages for plugins in any folder: Node looks for them in /node_modules at last.
RUN ln -s /app/node_modules/sluice/bin/sluice.cjs /usr/local/bin/sluice \
 && ln -s /app/node_modules /node_modules \
 && install -d -o 1000 -g 1000 /var/lib/sluice
# The only folder that sluice writes to, and only with `records: sqlite:./…`. Everything else may be read-only.
WORKDIR /var/lib/sluice
# A number, so that Kubernetes sees that it is not root.
USER 1000:1000
# Not the admin port: `docker run -P` publishes what is exposed.
EXPOSE 8080
STOPSIGNAL SIGTERM
# Alive, not ready: a store that is down is no reason to restart the gateway.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8081/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["sluice"]
CMD ["serve", "--config", "/etc/sluice/sluice.yaml"]
