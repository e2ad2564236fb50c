# A machine that has everything the course needs: the pages, the tests, the grading.
#   docker build -t attention-from-average .
#   docker run --rm -p 8000:8000 attention-from-average                  # the book, on port 8000
#   docker run --rm --privileged attention-from-average make test       # for bubblewrap
#   docker run --rm -p 8888:8888 attention-from-average .venv/bin/jupyter lab --ip 0.0.0.0 book
FROM python:3.11-slim-bookworm

# chromium: the browser tests. bubblewrap: isolation while grading. git: notebooks_clean and records.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      bubblewrap ca-certificates chromium fonts-dejavu-core git make postgresql \
 && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home learner
USER learner
WORKDIR /home/learner/course

# What set-up reads comes first, so that an edited chapter does not install everything again.
COPY --chown=learner pyproject.toml constraints.txt README.md LICENSE Makefile ./
COPY --chown=learner .ci/setup_env.py .ci/
COPY --chown=learner course/__init__.py course/
COPY --chown=learner book/package.json book/package-lock.json book/
RUN make setup TORCH=cpu

COPY --chown=learner . .
EXPOSE 8000 8888
CMD ["sh", "-c", "make book && exec .venv/bin/python .ci/serve.py --host 0.0.0.0 --port 8000"]
